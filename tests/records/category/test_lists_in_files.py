"""The lists that records point into, and the list of attachments, as files."""

from decimal import Decimal
from typing import Any

import pytest

from records.accounts.models import DefaultRole
from records.actions.models import Action
from records.attachments.models import Attachment
from records.history.models import Change
from records.reference.lists import LISTS, SITE_LISTS, SYSTEM_LISTS
from records.reference.models import Cause, Checklist, Country, Product, Rating
from records.sites.models import Site
from tests import make
from tests.make.actions import make_action
from tests.make.attachments import make_attachment
from tests.make.audits import find, make_audit, make_checklist, make_program, make_rating, response, start
from tests.make.backoffice import browser, list_address
from tests.make.complaints import make_entry
from tests.make.items import make_item
from tests.make.transfer import as_book, bring_in, check, export, faults, page, sheets, table, text_of

pytestmark = pytest.mark.django_db

KEEPER = DefaultRole.SITE_ADMINISTRATOR


def test_every_list_is_exported_and_those_of_the_site_are_imported(site: Site) -> None:
    client = browser(site, KEEPER)
    for model in LISTS.values():
        assert export(client, model, part=""), model
        may_import = page(Product, "import").replace("product", str(model._meta.model_name))
        assert (may_import in client.get(list_address(model)).content.decode()) == (model in SITE_LISTS.values()), model
    assert Country in SYSTEM_LISTS.values()
    assert client.get(page(Country, "import")).status_code == 404
    assert {row["Code"] for row in table(export(client, Country, query="?q=Norway", part=""))} == {"NO"}


@pytest.mark.parametrize("part", ["", "interface"])
def test_a_list_exported_and_imported_again_changes_nothing(site: Site, part: str) -> None:
    make_entry(Product, site, "Rye loaf")
    make_entry(Product, site, "=1+1")
    make_checklist(site, questions=("Dry?", "Clean?"))
    rating = make_rating(site)
    rating.responses.update(is_archived=False)
    client = browser(site, KEEPER)
    before = Change.objects.count()
    for model in (Product, Checklist, Rating):
        report = check(client, model, export(client, model, "xlsx", part=part), "file.xlsx")
        assert "There is nothing to import" in text_of(report), (model, faults(report))
    assert Change.objects.count() == before


def test_products_are_added_and_changed_by_code_with_a_reason_and_taken_back(site: Site, other_site: Site) -> None:
    old = make_entry(Product, site, "Rye loaf", code="P1")
    foreign = make_entry(Product, other_site, "Rye loaf", code="P1")
    client = browser(site, KEEPER)
    rows = [{"Name": "Rye loaf, large", "Code": "p1"}, {"Name": "Wheat loaf", "Code": "P2"}]
    answer = check(client, Product, rows)
    assert answer.context["warned"] == 1
    assert "Rye loaf (P1)" in text_of(answer)
    bring_in(client, Product, rows, reason="New range", match="code")
    assert {*Product.objects.filter(site=site).values_list("name", "code")} == {
        ("Rye loaf, large", "p1"),
        ("Wheat loaf", "P2"),
    }
    foreign.refresh_from_db()
    assert foreign.name == "Rye loaf"
    change = Change.objects.filter(record_id=old.pk).latest("number")
    assert (change.reason, change.channel, change.operation) == ("New range", "Import", "UpdateProduct")
    imports = client.get(page(Product, "imports"))
    (line,) = imports.context["lines"]
    assert "Archive" in text_of(client.get(line["address"]))


def test_an_entry_that_is_there_already_is_refused_with_its_row(site: Site) -> None:
    make_entry(Cause, site, "Wear")
    client = browser(site, KEEPER)
    messages = faults(check(client, Cause, [{"Name": "Belt"}, {"Name": "wear"}]))
    assert messages == {3: ["The list already has an active entry with this name and code."]}
    assert Cause.objects.filter(site=site).count() == 1


def test_a_checklist_is_imported_with_its_questions_in_order(site: Site) -> None:
    data = as_book(
        Checklists=[["Name", "Code"], ["Hygiene", "H1"], ["Empty", ""]],
        Questions=[["Checklist", "Question"], ["Hygiene", "Hands washed?"], ["hygiene", "Hair covered?"]],
    )
    bring_in(browser(site, KEEPER), Checklist, data)
    checklist = Checklist.objects.get(name="Hygiene")
    assert [row.question for row in checklist.questions.all()] == ["Hands washed?", "Hair covered?"]
    assert not Checklist.objects.get(name="Empty").questions.exists()


def test_a_rating_is_imported_with_responses_and_bands_or_refused_whole(site: Site) -> None:
    def book(second: int) -> bytes:
        bands: dict[str, list[list[Any]]] = {
            "Score bands": [
                ["Rating name", "From", "To", "Rating", "Result"],
                ["Three steps", 0, 80, "B", "Fail"],
                ["Three steps", second, 100, "A", "Pass"],
            ]
        }
        responses: list[list[Any]] = [
            ["Rating", "Name", "Score", "Fails the audit"],
            ["Three steps", "Good", 2, "no"],
            ["Three steps", "Bad", 0, "yes"],
        ]
        return as_book(Ratings=[["Name"], ["Three steps"]], Responses=responses, **bands)

    client = browser(site, KEEPER)
    assert "overlap" in str(faults(check(client, Rating, book(50), "file.xlsx")))
    assert not Rating.objects.filter(site=site).exists()
    bring_in(client, Rating, book(80))
    rating = Rating.objects.get(name="Three steps")
    rows = [(row.name, row.score, row.fails) for row in rating.responses.all()]
    assert rows == [("Good", Decimal(2), False), ("Bad", Decimal(0), True)]
    assert [band.rating for band in rating.bands.all()] == ["B", "A"]


def test_only_who_keeps_the_lists_imports_them(site: Site) -> None:
    for role in (DefaultRole.READER, DefaultRole.STANDARD):
        client = browser(site, role)
        assert page(Product, "import") not in client.get(list_address(Product)).content.decode()
        assert client.get(page(Product, "import")).status_code == 403


def test_attachments_are_exported_with_what_they_belong_to_as_far_as_the_user_sees_it(site: Site) -> None:
    item = make_item(site, name="Scale")
    audit = start(
        make_audit(make_program(site, name="GMP walk", checklists=[make_checklist(site, questions=("Dry?",))]))
    )
    make_attachment(site, on=item, name="Certificate")
    make_attachment(site, on=audit, finding_id=audit.findings.get().pk, name="Puddle")
    make_attachment(site, on=make.make_employee(site), name="Passport")
    rows = table(export(browser(site), Attachment, part=""))
    assert {(row["Name"], row["Record"], row["Finding"]) for row in rows if row["Name"] != "Passport"} == {
        ("Certificate", f"Item {item.site_sequence_id}: Scale", ""),
        ("Puddle", f"Audit {audit.site_sequence_id}: {audit}", "Dry?"),
    }
    assert all(row["File name"] == "photo.txt" and row["Created by"] is not None for row in rows)
    reader = table(export(browser(site, DefaultRole.READER), Attachment, part=""))
    assert "Passport" not in str(reader)
    clerk = make.make_user(site=site)
    make.make_role(site, ["attachments.view_attachment"], [clerk])
    hidden = table(export(browser(site, user=clerk), Attachment, part=""))
    assert {(row["Record"], row["Finding"]) for row in hidden} <= {("", "")}
    assert browser(site).get(page(Attachment, "changelist") + "import/").status_code in (302, 404)


def test_an_action_about_a_finding_is_exported_with_its_question(site: Site) -> None:
    rating = make_rating(site)
    audit = find(start(make_audit(make_program(site, rating=rating))), response(rating, "No"))
    make_action(site, about=audit, finding_id=audit.findings.get().pk, name="Mop")
    (row,) = table(export(browser(site), Action, part=""))
    assert (row["Record"], row["Finding"]) == (f"Audit {audit.site_sequence_id}: {audit}", "Question 1")
    assert sheets(export(browser(site), Action, "xlsx", part=""))


def test_the_bands_of_a_rating_keep_their_own_words_beside_the_name_of_the_rating(site: Site) -> None:
    make_rating(site)
    client = browser(site, KEEPER)
    book = sheets(export(client, Rating, "xlsx", part=""))
    assert list(book) == ["Ratings", "Responses", "Score bands"]
    assert book["Score bands"][0] == ["Rating name", "Rating Id", "Id", "From", "To", "Rating", "Result"]
    assert "Rating name" in client.get(page(Rating, "import")).content.decode()
