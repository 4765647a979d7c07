"""The security log: what is written where, and what a line of the log says."""

import json
import logging

import pytest

from records.accounts.models import SecurityEvent, SecurityKind
from records.accounts.security import REQUEST_ADDRESS, security_event, security_events
from records.history.models import Change
from records.history.trail import Author, Channel
from records.operations.logs import JsonFormatter
from tests.make import make_site, make_user


@pytest.mark.django_db
def test_a_sign_in_leaves_a_row_a_system_change_and_a_log_line(
    caplog: pytest.LogCaptureFixture, django_capture_on_commit_callbacks: object
) -> None:
    user = make_user("signer", site=make_site())
    with caplog.at_level(logging.INFO, "larder.security"), django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        security_event(SecurityKind.SIGNED_IN, account=user, address="203.0.113.7", detail="password")
    event = SecurityEvent.objects.get(kind=SecurityKind.SIGNED_IN)
    assert (event.account_id, event.account_name, event.address) == (user.pk, "signer", "203.0.113.7")
    change = Change.objects.get(operation="SignIn")
    assert (change.channel, change.record_id, change.site_id) == (Channel.SYSTEM, user.pk, user.home_site_id)
    assert [field["new"] for field in change.fields] == ["203.0.113.7", "password"]
    (record,) = [record for record in caplog.records if record.name == "larder.security"]
    line = json.loads(JsonFormatter().format(record))
    assert (line["account"], line["address"], line["operation"]) == (str(user.pk), "203.0.113.7", "SignIn")


@pytest.mark.django_db
def test_a_failed_sign_in_is_a_log_line_and_writes_nothing(
    caplog: pytest.LogCaptureFixture, django_capture_on_commit_callbacks: object
) -> None:
    before = Change.objects.count()
    with caplog.at_level(logging.INFO, "larder.security"), django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        security_event(SecurityKind.SIGN_IN_FAILED, address="203.0.113.7")
    assert [record.getMessage() for record in caplog.records] == ["Sign-in failed"]
    assert not SecurityEvent.objects.exists()
    assert Change.objects.count() == before


@pytest.mark.django_db
def test_an_event_of_a_write_leaves_no_second_change_and_takes_the_requests_address() -> None:
    site = make_site()
    people = [make_user(site=site), make_user(site=site)]
    before = Change.objects.count()
    author = Author(people[0].pk, "Uma", Channel.BACKOFFICE)
    mark = REQUEST_ADDRESS.set("2001:db8::1")
    security_events(SecurityKind.ROLE_GIVEN, people, author=author, detail="Manager")
    REQUEST_ADDRESS.reset(mark)
    assert Change.objects.count() == before
    assert set(SecurityEvent.objects.filter(kind="GiveRole").values_list("address", "author_id", "detail")) == {
        ("2001:db8::1", people[0].pk, "Manager")
    }


def test_a_line_of_another_log_names_no_account() -> None:
    record = logging.LogRecord("larder.access", logging.INFO, "", 0, "request", (), None)
    record.account_name = "signer"
    assert "account_name" not in json.loads(JsonFormatter().format(record))
