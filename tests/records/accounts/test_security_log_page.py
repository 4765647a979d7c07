"""The page of the security log (DECISIONS 9.9)."""

import csv
import datetime
import io
import uuid
from typing import Any

import pytest
from django.conf import settings as django_settings

from records.accounts.housekeeping import look_after_credentials
from records.accounts.models import DefaultRole, SecurityEvent, SecurityKind, User
from records.history.trail import now
from records.sites.models import Site
from tests import make

PAGE = "/admin/accounts/securityevent/"


@pytest.fixture
def events(site: Site, other_site: Site) -> list[SecurityEvent]:
    """Store events of two sites and one of none."""
    mira = make.make_user("mira", site=site)
    SecurityEvent.objects.all().delete()
    kinds = SecurityKind
    rows = [
        SecurityEvent(kind=kinds.SIGNED_IN, account_name="mira", account_id=mira.pk, address="192.0.2.1", site=site),
        SecurityEvent(kind=kinds.KEY_ISSUED, account_name="mira", account_id=mira.pk, detail="=1+1", site=site),
        SecurityEvent(kind=kinds.SIGNED_IN, account_name="otto", account_id=uuid.uuid4(), site=other_site),
        SecurityEvent(kind=kinds.LOCKED_OUT, account_name="nobody", address="203.0.113.5"),
    ]
    return SecurityEvent.objects.bulk_create(rows)


@pytest.fixture
def administrator(client: Any, site: Site, events: list[SecurityEvent]) -> Any:
    """Return a browser of a Site Administrator."""
    client.force_login(make.make_user("admin", site=site, role=DefaultRole.SITE_ADMINISTRATOR))
    SecurityEvent.objects.exclude(pk__in=[event.pk for event in events]).delete()
    return client


def names(client: Any, query: str = "") -> list[str]:
    """Return the accounts in an export."""
    answer = client.get(f"{PAGE}export/csv/{query}")
    assert answer.status_code == 200
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    return [row["Account"] for row in csv.DictReader(io.StringIO(text))]


def test_a_site_administrator_sees_the_events_of_the_site_alone(administrator: Any) -> None:
    text = administrator.get(PAGE).text
    assert "mira" in text
    assert "Signed in" in text
    assert "otto" not in text
    assert "203.0.113.5" not in text
    assert names(administrator) == ["mira", "mira"]


def test_a_superuser_sees_what_belongs_to_no_site_too(client: Any, events: list[SecurityEvent]) -> None:
    client.force_login(make.make_user("root", is_superuser=True))
    assert "nobody" in client.get(PAGE).text


@pytest.mark.parametrize("role", [DefaultRole.READER, DefaultRole.STANDARD, DefaultRole.MANAGER])
def test_other_roles_do_not_see_the_log(client: Any, site: Site, events: Any, role: DefaultRole) -> None:
    client.force_login(make.make_user("other", site=site, role=role))
    assert client.get(PAGE).status_code == 403
    assert client.get(f"{PAGE}export/csv/").status_code == 403


def test_the_log_is_narrowed_by_kind_account_and_address(administrator: Any, events: list[SecurityEvent]) -> None:
    assert len(names(administrator, "?kind=IssueKey")) == 1
    assert len(names(administrator, "?address=192.0.2.1")) == 1
    assert len(names(administrator, f"?account_id={events[0].account_id}")) == 2
    assert len(names(administrator, "?q=192.0.2.1")) == 1
    assert names(administrator, "?q=nobody") == []
    assert len(names(administrator, "?days=7")) == 2
    text = administrator.get(f"{PAGE}?kind=IssueKey").text
    assert "?kind=IssueKey" in text
    assert "export/csv/?kind=IssueKey" in text


@pytest.mark.parametrize("query", ["?account_id=x", "?foo=1", "?at__year=99999999", "?address__regex=("])
def test_an_address_that_cannot_be_read_is_400(administrator: Any, query: str) -> None:
    for path in (PAGE, f"{PAGE}export/csv/"):
        assert administrator.get(path + query).status_code in (302, 400)


def test_an_export_holds_no_formula(administrator: Any) -> None:
    answer = administrator.get(f"{PAGE}export/csv/?kind=IssueKey")
    assert ",'=1+1," in b"".join(answer.streaming_content).decode()


def test_the_log_is_paged_with_a_fixed_number_of_queries(
    administrator: Any, site: Site, django_assert_max_num_queries: Any
) -> None:
    rows = [SecurityEvent(kind=SecurityKind.SIGNED_OUT, account_name=f"n{one}", site=site) for one in range(60)]
    SecurityEvent.objects.bulk_create(rows)
    with django_assert_max_num_queries(25):
        first = administrator.get(PAGE).text
    second = administrator.get(f"{PAGE}?p=2").text
    assert "n59" in first
    assert "n59" not in second
    assert "Key made</td>" in second


def test_an_event_has_no_page_and_cannot_be_changed(administrator: Any, events: list[SecurityEvent]) -> None:
    key = events[0].pk
    assert administrator.get(f"{PAGE}{key}/change/").status_code == 404
    assert administrator.post(f"{PAGE}{key}/delete/", {"post": "yes"}).status_code in (403, 404)
    assert administrator.get(f"{PAGE}add/").status_code in (403, 404)
    assert SecurityEvent.objects.filter(pk=key).exists()


def test_rows_past_their_time_are_dropped(events: list[SecurityEvent], settings: Any) -> None:
    settings.SECURITY_LOG_DAYS = 30
    SecurityEvent.objects.filter(pk=events[0].pk).update(at=now() - datetime.timedelta(days=31))
    assert look_after_credentials.call()["events"] == 1
    assert SecurityEvent.objects.filter(pk__in=[event.pk for event in events]).count() == 3
    assert "records.accounts.housekeeping.look_after_credentials" in django_settings.REGULAR_JOBS
    assert User.objects.filter(user_name="mira").exists()


def test_only_kinds_that_the_log_can_have_are_offered_as_a_filter(administrator: Any) -> None:
    text = administrator.get(PAGE).text
    choices = {kind for kind in SecurityKind if f"kind={kind.value}" in text or f'value="{kind.value}"' in text}
    assert choices == set(SecurityKind) - {SecurityKind.SIGN_IN_FAILED, SecurityKind.REFUSED}
