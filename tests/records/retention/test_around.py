"""Erasing a person also from saved filters, from the names of imported files, and from a record's attachments."""

import json
from typing import Any

from django.apps import apps
from django.db import connection
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.attachments.models import Attachment
from records.backoffice.models import FileImport, SavedFilter
from records.complaints.erasure import erase_consumer
from records.complaints.models import Complaint
from records.history.models import Change
from records.history.verification import verify
from records.items.models import Item
from records.retention.actions import set_hold
from records.retention.around import changes_of_filters
from records.sites.models import Site
from tests import make
from tests.make.attachments import make_attachment
from tests.make.backoffice import browser, list_address, press
from tests.make.complaints import make_complaint
from tests.make.customers import make_customer

FILTERS = reverse("admin:complaints_complaint_filters")
PHONE = "0421 555 0100"


def everything() -> str:
    """Return all that the database holds of the rows around the records, in lower case."""
    labels = ("backoffice.SavedFilter", "backoffice.FileImport", "attachments.Attachment", "history.Change")
    rows = [list(apps.get_model(label)._base_manager.values()) for label in labels]
    return json.dumps(rows, default=str, ensure_ascii=False).casefold()


def complaint_of(site: Site, **more: Any) -> Complaint:
    return make_complaint(
        site, consumer_first_name="Rose", consumer_last_name="Przybylski", consumer_phone=PHONE, **more
    )


def save_filter(client: Any, query: str, name: str) -> SavedFilter:
    client.post(FILTERS, {"query": query, "name": name})
    return SavedFilter.objects.get(name=name)


def test_saved_filters_lose_the_person_also_removed_and_renamed_ones(site: Site, other_site: Site) -> None:
    client = browser(site)
    by_name = save_filter(client, "archived=all&q=przybylski", "Mrs Przybylski")
    by_phone = save_filter(client, "q=04215550100", "By phone")
    with_new_name = save_filter(client, "q=rye", "Przybylski, rye")
    client.post(FILTERS, {"saved": str(with_new_name.pk), "name": "Rye"})
    removed_filter = save_filter(client, "q=Przybylski", "Gone")
    client.post(FILTERS, {"saved": str(removed_filter.pk), "remove": "1"})
    other = save_filter(browser(other_site), "q=Przybylski", "Of another site")
    rose = save_filter(client, "q=rose", "Rose bread")
    complaint = complaint_of(site)
    assert not SavedFilter.objects.filter(pk=removed_filter.pk).exists()
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked by letter")
    assert not verify().faults
    for one in (by_name, by_phone, with_new_name, other, rose):
        one.refresh_from_db()
    assert by_name.name.startswith("erased-")
    assert by_name.query.startswith("archived=all&q=erased-")
    assert by_phone.query.startswith("q=erased-")
    assert (by_phone.name, with_new_name.name, with_new_name.query) == ("By phone", "Rye", "q=rye")
    assert (other.query, rose.query, rose.name) == ("q=Przybylski", "q=rose", "Rose bread")
    changes = Change.objects.filter(site=site).values("record_name", "fields", "reason")
    assert "przybylski" not in json.dumps(list(changes), default=str).casefold()
    assert "0421" not in json.dumps(list(changes), default=str)
    # The filter still works, and the list still offers it as the active one.
    page = client.get(f"{list_address(Complaint)}?{by_name.query}")
    assert [row["saved"] for row in page.context["saved_filters"]["rows"] if row["active"]] == [by_name]
    assert Change.objects.filter(record_id=removed_filter.pk).latest("number").operation == "EraseConsumer"


def test_the_changes_of_saved_filters_have_an_index_that_a_plan_for_all_sites_uses(site: Site) -> None:
    client = browser(site)
    for number in range(3):
        save_filter(client, "q=rye", f"Rye {number}")
    for _ in range(40):
        make_customer(site)
    rows = changes_of_filters(site.pk)
    assert rows.count() == 3
    if connection.vendor == "sqlite":
        assert "change_of_saved_filter" in rows.explain()
        return
    sql, parameters = rows.query.get_compiler(connection=connection).as_sql()
    assert len(parameters) == 1
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE history_change")
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        cursor.execute(f"PREPARE of_filters(uuid) AS {sql % '$1'}")
        cursor.execute(f"EXPLAIN EXECUTE of_filters('{site.pk}')")
        plan = str(cursor.fetchall())
        cursor.execute("DEALLOCATE of_filters")
    assert "change_of_saved_filter" in plan


def test_names_of_imported_files_lose_the_person(site: Site) -> None:
    complaint, user = complaint_of(site), make.make_user(site=site)
    facts = {"site": site, "listing": "items.item", "user": user, "added": 1, "changed": 0}
    file_import = FileImport.objects.create(file_name="items_Przybylski.xlsx", reason="List of Mrs PRZYBYLSKI", **facts)
    other = FileImport.objects.create(file_name="items.xlsx", reason="A list", **facts)
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked by letter")
    file_import.refresh_from_db()
    other.refresh_from_db()
    assert file_import.file_name.startswith("erased-")
    assert file_import.file_name.endswith(".xlsx")
    assert (other.file_name, other.reason) == ("items.xlsx", "A list")
    assert "przybylski" not in everything()
    page = browser(site, DefaultRole.SITE_ADMINISTRATOR).get(reverse("admin:items_item_imports"))
    assert file_import.file_name in page.text
    assert Item._meta.label_lower == file_import.listing


def test_names_of_attachments_are_named_and_erased_only_if_asked(site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    for choice, is_left in (("no", True), ("yes", False)):
        complaint = complaint_of(site)
        letter = make_attachment(site, on=complaint, file_name="Letter Przybylski.txt", description="Of Rose")
        other = make_attachment(site, on=complaint, file_name="Stone.txt", name="Stone")
        step = reverse("admin:complaints_complaint_step", args=(complaint.pk, "erase-consumer"))
        text = client.get(step).text
        assert "name and description of the attachment" in text
        assert "details are also erased from saved filters and from the names of imported files." in text
        assert press(client, step, {"change_reason": "Asked by letter", "with_texts": choice}).status_code == 302
        before = (letter.file_name, letter.file_hash, letter.path)
        letter.refresh_from_db()
        other.refresh_from_db()
        assert (other.file_name, other.name) == ("Stone.txt", "Stone")
        assert (letter.file_name == before[0]) is is_left
        assert (letter.file_hash, letter.path) == before[1:]
        assert letter.file_name.endswith(".txt")
        mine = Change.objects.filter(record_id=letter.pk).values("record_name", "fields")
        assert ("przybylski" in json.dumps(list(mine), default=str).casefold()) is is_left
        assert ("of rose" in json.dumps(list(mine), default=str).casefold()) is is_left
        assert not verify().faults


def test_an_attachment_on_legal_hold_keeps_its_texts(site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    saved_filter = save_filter(client, "q=przybylski", "Mine")
    complaint = complaint_of(site)
    letter = make_attachment(site, on=complaint, file_name="Letter Przybylski.txt")
    set_hold(Attachment, site.pk, letter.pk, author=make.SYSTEM, reason="Court case 12")
    step = reverse("admin:complaints_complaint_step", args=(complaint.pk, "erase-consumer"))
    answer = press(client, step, {"change_reason": "Asked by letter", "with_texts": "yes"})
    assert "The attachment “Letter Przybylski.txt” is on legal hold, so its texts must stay." in answer.text
    for row in (saved_filter, letter, complaint):
        row.refresh_from_db()
    assert (saved_filter.query, letter.file_name) == ("q=przybylski", "Letter Przybylski.txt")
    assert complaint.consumer_last_name == "Przybylski"
    assert press(client, step, {"change_reason": "Asked by letter", "with_texts": "no"}).status_code == 302
    letter.refresh_from_db()
    complaint.refresh_from_db()
    assert letter.file_name == "Letter Przybylski.txt"
    assert complaint.consumer_last_name.startswith("erased-")


def test_a_contact_is_erased_around_the_customer_too(site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    saved_filter = save_filter(client, "q=Przybylski", "Mine")
    customer = make_customer(site, party_contacts=[{"last_name": "Przybylski", "phone": PHONE}])
    [contact] = customer.party_contacts.all()
    step = reverse("admin:customers_customer_step", args=(customer.pk, "erase-contact"))
    assert press(client, step, {"change_reason": "Asked", "contact": str(contact.pk)}).status_code == 302
    saved_filter.refresh_from_db()
    assert saved_filter.query.startswith("q=erased-")
    assert "przybylski" not in everything()
    assert not verify().faults
