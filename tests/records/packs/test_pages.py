"""The pages of auditor's packs: who sees the list, asks for a pack and opens it, and what is said where they cannot."""

import datetime
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.core.files.storage import default_storage
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.complaints.erasure import erase_consumer
from records.history.models import Change
from records.packs.models import Pack, Status
from records.packs.pages import presets
from records.sites.models import Site
from tests import make
from tests.make import packs
from tests.make.attachments import make_attachment
from tests.make.backoffice import browser, form_of, sign_in
from tests.make.complaints import make_complaint

pytestmark = pytest.mark.django_db
LIST, NEW = "/admin/packs/", "/admin/packs/new/"


def file_of(pack: Pack) -> str:
    return reverse("admin:packs_file", args=(pack.pk,))


def opens(client: Any, pack: Pack) -> bool:
    """Return whether the file is served, and read it to its end."""
    answer = client.get(file_of(pack))
    return answer.status_code == 200 and len(b"".join(answer.streaming_content)) == pack.file.file_size


@pytest.mark.parametrize(
    ("role", "status"), [(DefaultRole.READER, 403), (DefaultRole.STANDARD, 403), (DefaultRole.MANAGER, 200)]
)
def test_managers_and_above_may_make_packs(site: Site, role: DefaultRole, status: int) -> None:
    client = browser(site, role)
    assert client.get(LIST).status_code == status
    assert client.get(NEW).status_code == status
    assert (b"Auditor&#x27;s packs" in client.get("/admin/").content) is (status == 200)


def test_the_form_tells_how_much_each_kind_is_in_the_period(site: Site, other_site: Site) -> None:
    complaint = make_complaint(site)
    make_complaint(site, date=datetime.datetime(2001, 5, 1, tzinfo=datetime.UTC))
    make_complaint(other_site)
    make_attachment(site, on=complaint, content=b"x" * 2048)
    page = browser(site).get(NEW)
    counts = {line["key"]: line["count"] for line in page.context["lines"]}
    assert (counts["complaints"], counts["attachments"], counts["customers"]) == (1, 1, 2)
    assert page.context["size"] == 2048
    page = browser(site).get(NEW, {"first": "2001-01-01", "last": "2001-12-31"})
    counts = {line["key"]: line["count"] for line in page.context["lines"]}
    assert (counts["complaints"], counts["attachments"], counts["customers"]) == (1, 0, 0)


def test_counting_again_stores_nothing(site: Site) -> None:
    client = browser(site)
    data = {**form_of(client.get(NEW)), "first": "2001-01-01", "kinds": ["complaints"]}
    page = client.post(NEW, {**data, "count": "1"})
    assert page.status_code == 200
    assert [line["key"] for line in page.context["lines"] if line["is_chosen"]] == ["complaints"]
    assert not Pack.objects.exists()


def test_a_pack_is_asked_for_made_and_opened_and_the_history_names_who(site: Site) -> None:
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    client = sign_in(manager, site)
    answer: Any = client.post(NEW, form_of(client.get(NEW)))
    assert (answer.status_code, answer.url) == (302, LIST)
    pack = Pack.objects.get()
    assert b"Waiting for the worker" in client.get(LIST).content
    packs.make_pack.call(str(pack.pk))
    page = client.get(LIST).content.decode()
    assert file_of(pack) in page
    answer = client.get(file_of(pack))
    assert b"".join(answer.streaming_content)[:4] == b"PK\x03\x04"
    assert "attachment" in answer["Content-Disposition"]
    opening = Change.objects.get(operation="OpenPack")
    assert (opening.author_id, opening.record_id) == (manager.pk, pack.pk)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"first": "yesterday"}, "Enter a date as year-month-day."),
        ({"first": ""}, "Choose a day."),
        ({"first": "2026-05-02", "last": "2026-05-01"}, "The last day is before the first one."),
        ({"last": "9999-12-31"}, "Choose a day from 1950 to 2999."),
        ({"kinds": []}, "Choose at least one kind of record."),
        ({"kinds": ["everything"]}, "everything is not one of the available choices"),
    ],
)
def test_what_cannot_be_made_is_said_and_stores_nothing(site: Site, changes: Any, message: str) -> None:
    client = browser(site)
    answer = client.post(NEW, {**form_of(client.get(NEW)), **changes})
    assert answer.status_code == 200
    assert message in answer.content.decode()
    assert not Pack.objects.exists()


def test_an_address_that_cannot_be_read_gives_the_usual_period(site: Site) -> None:
    page = browser(site).get(NEW, {"first": "x", "last": "2026-02-31", "kinds": "nothing"})
    assert page.status_code == 200
    assert page.context["presets"][0]["is_chosen"]


def test_a_pack_is_its_maker_s_and_site_administrators_alone(site: Site, other_site: Site) -> None:
    pack = packs.finished_pack(site)
    colleague, administrator = browser(site), browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert colleague.get(file_of(pack)).status_code == 404
    assert str(pack.pk) not in colleague.get(LIST).content.decode()
    assert browser(other_site, DefaultRole.SITE_ADMINISTRATOR).get(file_of(pack)).status_code == 404
    assert str(pack.pk) in administrator.get(LIST).content.decode()
    assert opens(administrator, pack)


def test_who_may_not_see_what_a_pack_shows_cannot_open_it(site: Site) -> None:
    make_complaint(site)
    pack = packs.finished_pack(site)
    user = make.make_user()
    make.make_role(site, ["packs.make_pack", "packs.open_any_pack", "complaints.view_complaint"], [user])
    answer = sign_in(user, site).get(file_of(pack))
    assert answer.status_code == 302
    assert "what your roles do not let you see" in next(str(text) for text in get_messages(answer.wsgi_request))


def test_a_pack_older_than_an_erasure_is_not_given_out(site: Site) -> None:
    complaint = make_complaint(site, consumer_last_name="Berg")
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    pack = packs.finished_pack(site, manager)
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked for it.")
    client = sign_in(manager, site)
    assert client.get(file_of(pack)).status_code == 302
    assert "Personal data was erased" in client.get(LIST).content.decode()
    again = packs.finished_pack(site, manager)
    assert opens(client, again)


def test_a_removed_or_lost_file_is_said(site: Site) -> None:
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    pack = packs.finished_pack(site, manager)
    client = sign_in(manager, site)
    default_storage.delete(pack.file.path)
    assert client.get(file_of(pack)).status_code == 503
    assert not Change.objects.filter(operation="OpenPack").exists()
    Pack.objects.update(status=Status.REMOVED)
    assert client.get(file_of(pack)).status_code == 302
    assert "Removed after 7 days" in client.get(LIST).content.decode()


def test_the_list_costs_the_same_whatever_there_is_and_has_a_second_page(
    site: Site, django_assert_max_num_queries: Any
) -> None:
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    client = sign_in(manager, site)
    assert "You have not made a pack" in client.get(LIST).content.decode()
    first = packs.finished_pack(site, manager)
    for _ in range(30):
        Pack.objects.create(site=site, asked_by=manager, first=first.first, last=first.last, status=Status.FAILED)
    with django_assert_max_num_queries(12):
        page = client.get(LIST)
    assert "Page 1 of 2" in page.content.decode()
    assert "Page 2 of 2" in client.get(LIST, {"page": "2"}).content.decode()


@pytest.mark.parametrize("today", [datetime.date(2024, 2, 29), datetime.date(2026, 1, 1), datetime.date(2026, 12, 31)])
def test_the_periods_that_are_offered_are_whole(today: datetime.date) -> None:
    periods = {name: (first, last) for name, first, last in presets(today)}
    assert all(first <= last <= today for first, last in periods.values())
    year = periods["Last year"]
    assert (year[0].timetuple().tm_yday, year[1].month, year[1].day) == (1, 12, 31)
    assert (periods["Last month"][1] + datetime.timedelta(days=1)).day == 1
    assert periods["Last quarter"][0].month in (1, 4, 7, 10)
