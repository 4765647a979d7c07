"""Documents that roles must read: who is asked, the confirmation, mails, the lists and the matrix."""

import datetime
import io
from functools import partial
from typing import Any

import openpyxl
import pytest
from django.core import mail
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from documents import actions, reading, reading_pages
from documents.models import Document, DocumentVersion, Notice, Reading
from documents.tasks import send_notices
from records.accounts.actions import set_members
from records.accounts.models import DefaultRole, Role, User
from records.history.models import Change
from records.history.trail import now
from records.history.verification import verify
from records.sites.models import Site
from records.sites.writing import RecordNotFoundError
from tests import make
from tests.conftest import Api
from tests.make.backoffice import address, browser, save, sign_in
from tests.make.documents import add_version, make_document, make_signer, version_of
from tests.make.transfer import csv_lines

READER, STANDARD, MANAGER = DefaultRole.READER, DefaultRole.STANDARD, DefaultRole.MANAGER
MATRIX = "/admin/documents/readings/"


@pytest.fixture
def bakers(site: Site) -> Role:
    """Return a role of the site without members."""
    return make.make_role(site, ["items.view_item"], name="Bakers")


def join(role: Role, *users: User) -> None:
    """Make users members of a role."""
    set_members(role, add=list(users), author=make.SYSTEM)


def waiting(user: User) -> list[Any]:
    """Return the ids of the versions that the person must read."""
    return [version.pk for version in reading.waiting_for(User.objects.get(pk=user.pk))]


def status_of_file(client: Any, version: DocumentVersion) -> int:
    """Return the status with which the version's file is answered, and read the file to its end."""
    answer = client.get(reverse("admin:documents_file", args=(version.pk,)))
    b"".join(answer)
    status: int = answer.status_code
    return status


def confirm(document: Document, user: User) -> Reading:
    """Confirm the newest version as the person."""
    return reading.confirm(version_of(document).pk, user, author=make.author_of(user))


def test_each_version_in_force_asks_each_member_once(site: Site, bakers: Role) -> None:
    baker, other = make_signer(site), make_signer(site)
    join(bakers, baker)
    document = make_document(site, must_read=[bakers])
    assert waiting(baker) == [version_of(document).pk]
    assert waiting(other) == []
    first = confirm(document, baker)
    assert (first.user_name, first.file_hash) == (baker.printed_name, version_of(document).file_hash)
    assert waiting(baker) == []
    add_version(document)
    assert waiting(baker) == [version_of(document, 2).pk]
    change = Change.objects.get(operation="ConfirmReading")
    assert (change.record_id, change.author_id, change.site_id) == (first.pk, baker.pk, site.pk)


def test_saying_it_twice_leaves_one_reading_and_one_change(site: Site, bakers: Role) -> None:
    baker = make_signer(site)
    join(bakers, baker)
    document = make_document(site, must_read=[bakers])
    assert confirm(document, baker) == confirm(document, baker)
    assert Reading.objects.count() == Change.objects.filter(operation="ConfirmReading").count() == 1


@pytest.mark.django_db(transaction=True)
def test_saying_it_at_the_same_moment_leaves_one_reading_and_one_change(site: Site, bakers: Role) -> None:
    baker = make_signer(site)
    join(bakers, baker)
    document = make_document(site, must_read=[bakers])
    results = make.at_once(*[partial(confirm, document, baker)] * 4)
    assert {getattr(one, "pk", one) for one in results} == {Reading.objects.get().pk}
    assert Change.objects.filter(operation="ConfirmReading").count() == 1
    assert not verify().faults


def test_members_of_roles_within_the_role_are_asked_too(site: Site, bakers: Role) -> None:
    inner = make.make_role(site, ["items.view_item"], name="Night shift")
    baker = make_signer(site)
    join(inner, baker)
    set_members(bakers, add=[inner], author=make.SYSTEM)
    document = make_document(site, must_read=[bakers])
    assert waiting(baker) == [version_of(document).pk]
    assert reading.readers_of([document.pk])[document.pk] == {baker.pk}


def test_a_version_that_is_not_in_force_asks_nobody(site: Site, bakers: Role) -> None:
    baker, reviewer = make_signer(site), make_signer(site)
    join(bakers, baker)
    document = make_document(site, must_read=[bakers], user_to_review=[reviewer])
    assert waiting(baker) == []
    with pytest.raises(ValidationError, match="not in force"):
        confirm(document, baker)
    assert not Notice.objects.filter(kind=Notice.Kind.READ).exists()


def test_nobody_confirms_for_a_role_that_they_do_not_hold(site: Site, other_site: Site, bakers: Role) -> None:
    document = make_document(site, must_read=[bakers])
    for user in (make_signer(site), make_signer(other_site)):
        with pytest.raises(RecordNotFoundError):
            confirm(document, user)
    assert not Reading.objects.exists()


def test_a_role_of_another_site_is_refused(site: Site, other_site: Site) -> None:
    with pytest.raises(ValidationError):
        make_document(site, must_read=[make.make_role(other_site, ["items.view_item"])])


def test_the_page_takes_the_confirmation_and_opens_the_file(site: Site, bakers: Role) -> None:
    baker = make_signer(site, READER)
    other = make_signer(site, READER)
    join(bakers, baker)
    document = make_document(site, must_read=[bakers])
    version = version_of(document)
    page, client = reverse("admin:documents_read", args=(version.pk,)), browser(site, user=baker)
    assert page in client.get("/admin/documents/reading/").content.decode()
    assert "I have read and understood it" in client.get(page).content.decode()
    assert status_of_file(client, version) == 200
    sections = {section.key: section for section in client.get("/admin/").context["waiting"]}
    assert (sections["read"].total, sections["read"].rows[0].url) == (1, page)
    assert client.post(page).status_code == 302
    assert Reading.objects.get().user == baker
    assert "You have read everything" in client.get("/admin/documents/reading/").content.decode()
    assert browser(site, user=other).post(page).status_code == 302
    assert Reading.objects.count() == 1


def test_a_member_who_may_not_see_documents_opens_the_file_that_they_must_read(site: Site, bakers: Role) -> None:
    baker = make.make_user(email="b@example.org")
    join(bakers, baker)
    version = version_of(make_document(site, must_read=[bakers]))
    hidden = version_of(make_document(site))
    client = browser(site, user=baker)
    assert status_of_file(client, version) == 200
    assert status_of_file(client, hidden) == 404


def test_the_document_shows_who_has_read_it_and_who_has_not(site: Site, bakers: Role) -> None:
    read, missing, expired = (make_signer(site, given_name=name) for name in ("Ada", "Bob", "Cleo"))
    join(bakers, read, missing, expired)
    document = make_document(site, must_read=[bakers])
    confirm(document, expired)
    add_version(document)
    confirm(document, read)
    manager = browser(site, MANAGER)
    page = manager.get(address(document, "readers"))
    assert address(document, "readers") in manager.get(address(document)).content.decode()
    assert {row["person"]: row["state"] for row in page.context["rows"]} == {
        read: "read",
        missing: "missing",
        expired: "expired",
    }
    assert "1 of 3 people have read version 2" in page.content.decode()
    page = manager.get(address(document, "readers") + "?show=missing")
    assert {row["person"] for row in page.context["rows"]} == {missing, expired}
    assert browser(site, STANDARD).get(address(document, "readers")).status_code == 403


def test_the_matrix_shows_person_by_document(site: Site, other_site: Site, bakers: Role) -> None:
    ada, bob = (make_signer(site, given_name=name, family_name=name) for name in ("Ada", "Bob"))
    manager = browser(site, MANAGER)
    assert "Nobody has to read a document of this site" in manager.get(MATRIX).content.decode()
    join(bakers, ada, bob)
    first, second = (make_document(site, name=name, must_read=[bakers]) for name in ("A rule", "B rule"))
    make_document(site, name="Unread by all")
    confirm(first, ada)
    confirm(first, bob)
    confirm(second, bob)
    page = manager.get(MATRIX)
    assert [version.document for version, _ in page.context["heads"]] == [first, second]
    assert f"due {reading.due(version_of(first)).date().isoformat()}" in page.content.decode()
    assert [(row["person"], [cell["state"] for cell in row["cells"]]) for row in page.context["rows"]] == [
        (ada, ["read", "missing"]),
        (bob, ["read", "read"]),
    ]
    assert "3 of 4 readings are done." in page.content.decode()
    page = manager.get(f"{MATRIX}?show=missing")
    assert [version.document for version, _ in page.context["heads"]] == [second]
    assert [row["person"] for row in page.context["rows"]] == [ada]
    assert browser(site, STANDARD).get(MATRIX).status_code == 403
    assert "A rule" not in browser(other_site, MANAGER).get(MATRIX).content.decode()


def test_the_matrix_is_a_file_with_what_is_shown_on_every_page(
    site: Site, other_site: Site, bakers: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_pages, "AT_ONCE", 1)
    ada, bob = (make_signer(site, given_name=name, family_name=name) for name in ("=Ada", "Bob"))
    join(bakers, ada, bob)
    first, second = (make_document(site, name=name, must_read=[bakers]) for name in ("A rule", "B rule"))
    confirm(first, ada)
    confirm(second, bob)
    add_version(second)
    due, today = reading.due(version_of(first)).date().isoformat(), now().date().isoformat()
    names = [f"'{ada}", str(bob)]
    head = ["Document", "Version", "Due", "Person", "State", "Read on"]
    lines = [
        ["A rule", "1", due, names[0], "Has read it", today],
        ["A rule", "1", due, names[1], "Missing", ""],
        ["B rule", "2", due, names[0], "Missing", ""],
        ["B rule", "2", due, names[1], "Expired: read version 1", today],
    ]
    client = browser(site, MANAGER)
    assert f'href="{MATRIX}xlsx/?show=missing"' in client.get(f"{MATRIX}?show=missing").content.decode()
    assert csv_lines(client.get(f"{MATRIX}csv/")) == [head, *lines]
    assert csv_lines(client.get(f"{MATRIX}csv/?show=missing")) == [head, *lines[1:]]
    assert csv_lines(client.get(f"{MATRIX}csv/?due__until=2020-01-01")) == [head]
    workbook = openpyxl.load_workbook(io.BytesIO(b"".join(client.get(f"{MATRIX}xlsx/"))))
    assert [row[0] for row in workbook.active.values] == ["Document", "A rule", "A rule", "B rule", "B rule"]
    assert client.get(f"{MATRIX}csv/?due__until=never").status_code == 404
    assert client.get(f"{MATRIX}pdf/").status_code == 404
    assert browser(site, STANDARD).get(f"{MATRIX}csv/").status_code == 403
    assert csv_lines(browser(other_site, MANAGER).get(f"{MATRIX}csv/")) == [head]


def test_every_page_shows_the_days_of_the_sites_calendar(site: Site, bakers: Role) -> None:
    Site.objects.filter(pk=site.pk).update(time_zone="Pacific/Auckland")
    ada, bob = (make.make_user(site=site, role=MANAGER, family_name=name) for name in ("Ada", "Bob"))
    join(bakers, ada, bob)
    document = make_document(site, must_read=[bakers])
    in_force_since = datetime.datetime(2026, 2, 1, 14, 30, tzinfo=datetime.UTC)  # in Auckland on the second, 3:30
    DocumentVersion.objects.update(created=in_force_since, in_force_since=in_force_since)
    confirm(document, bob)
    Reading.objects.update(date=in_force_since + datetime.timedelta(hours=1))
    mine, version = sign_in(ada, site), version_of(document)
    for page in ("/admin/", reverse("admin:documents_reading"), reverse("admin:documents_read", args=(version.pk,))):
        assert "2026-02-16" in mine.get(page).content.decode(), page
    (_, due), *_ = mine.get(f"{MATRIX}?due__since=2026-02-16").context["heads"]
    assert due == datetime.datetime(2026, 2, 15, 14, 30, tzinfo=datetime.UTC)
    for page in (MATRIX, address(document, "readers")):
        assert "2026-02-02" in mine.get(page).content.decode(), page


def test_a_day_that_cannot_be_read_is_named_instead_of_showing_all_readings(site: Site, bakers: Role) -> None:
    make_document(site, name="Rules", must_read=[bakers])
    answer = browser(site).get("/admin/documents/readings/?due__until=tomorrow")
    assert answer.status_code == 400
    text = answer.content.decode()
    assert "The list cannot be filtered by “due: tomorrow”." in text
    assert "Rules" not in text


def test_the_matrix_costs_the_same_for_few_and_many_and_has_pages(site: Site, bakers: Role) -> None:
    manager = browser(site, MANAGER)

    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert manager.get(MATRIX).status_code == 200
        return len(queries)

    join(bakers, make_signer(site))
    make_document(site, must_read=[bakers])
    manager.get(MATRIX)
    # Each time a document was written since the page before, so that nothing is kept.
    make_document(site)
    few = cost()
    join(bakers, *(make_signer(site) for _ in range(51)))
    for _ in range(9):
        make_document(site, must_read=[bakers])
    # One more for each of the two counts of pages that a single page does not need.
    assert cost() <= few + 2
    page = manager.get(f"{MATRIX}?documents=2&page=2").content.decode()
    assert "Documents 9 to 10 of 10" in page
    assert "Page 2 of 2" in page


def test_a_mail_asks_each_reader_once_and_again_for_the_next_version(site: Site, bakers: Role) -> None:
    baker = make_signer(site)
    join(bakers, baker)
    document = make_document(site, name="Hygiene", must_read=[bakers])
    send_notices.func()
    [message] = [one for one in mail.outbox if one.to == [baker.email]]
    assert message.subject == "Please read: Hygiene, version 1"
    assert f"/admin/documents/reading/{version_of(document).pk}/" in message.body
    send_notices.func()
    assert len(mail.outbox) == 1
    add_version(document)
    confirm(document, baker)
    send_notices.func()
    assert len(mail.outbox) == 1, "Who has read it before the mail went out is not asked."


def test_roles_named_later_ask_their_members_and_nobody_twice(site: Site, bakers: Role) -> None:
    baker, cleaner = make_signer(site), make_signer(site)
    join(bakers, baker)
    cleaners = make.make_role(site, ["items.view_item"], [cleaner], name="Cleaners")
    document = make_document(site, must_read=[bakers])
    client = browser(site, MANAGER)
    answer = save(client, document, must_read=[str(bakers.pk), str(cleaners.pk)], change_reason="Cleaners too")
    assert answer.status_code == 302
    user_ids = Notice.objects.filter(kind=Notice.Kind.READ).values_list("user_id", flat=True)
    assert sorted(user_ids) == sorted([baker.pk, cleaner.pk])
    change = Change.objects.filter(record_id=document.pk).latest("number")
    assert [entry["field"] for entry in change.fields] == ["must_read"]


def test_the_interface_keeps_the_documented_shape(api: Api, site: Site, bakers: Role) -> None:
    body = api.get(f"/document/GetDocument/{make_document(site, must_read=[bakers]).pk}").json()
    assert "MustRead" not in body
    assert "Name" in body


def test_a_reading_is_due_two_weeks_after_its_version_came_into_force(site: Site, bakers: Role) -> None:
    version = version_of(make_document(site, must_read=[bakers]))
    assert version.in_force_since is not None
    assert reading.due(version).date() - version.in_force_since.date() == datetime.timedelta(days=14)


def test_the_history_proves_readings(site: Site, bakers: Role) -> None:
    baker = make_signer(site)
    join(bakers, baker)
    document = make_document(site, must_read=[bakers])
    confirm(document, baker)
    assert not verify().faults
    Reading.objects.update(user_name="Somebody else")
    assert any("altered past its history" in str(fault) for fault in verify().faults)


def test_archiving_the_document_asks_nobody_any_more(site: Site, bakers: Role) -> None:
    baker = make_signer(site)
    join(bakers, baker)
    document = make_document(site, must_read=[bakers])
    actions.archive_document(site.pk, document.pk, archived=True, author=make.SYSTEM, reason="Old.")
    assert waiting(baker) == []
