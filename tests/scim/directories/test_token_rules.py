"""What a provisioning token is bound to: reading, address ranges and an end (DECISIONS 9.6)."""

import datetime
import logging
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from records.accounts import address_ranges, directories
from records.accounts.housekeeping import look_after_credentials
from records.accounts.models import DefaultRole, Directory, ProvisioningToken, SecurityEvent, SecurityKind
from records.history.models import Change
from records.history.trail import now
from records.sites.models import Site
from scim.models import ProvisioningCall
from tests import make
from tests.make.signing_in import run_tasks
from tests.scim import people
from tests.scim.conftest import Scim, assert_error

DAY = datetime.timedelta(days=1)


def test_a_read_only_token_reads_and_searches_and_changes_nothing(scim: Scim, directory: Directory) -> None:
    user, group = scim.add_user("mira@corp.local"), scim.add_group("Bakers")
    reader = Scim(people.make_token(directory, read_only=True))
    assert reader.get("/Users").json()["totalResults"] == 1
    search = {"schemas": ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"]}
    for path in ("/.search", "/Users/.search", "/Groups/.search"):
        assert reader.post(path, search).status_code == 200
    assert reader.get("/ServiceProviderConfig").status_code == 200
    before = Change.objects.count()
    operation = {"op": "replace", "path": "displayName", "value": "X"}
    for answer in (
        reader.post("/Users", people.user_body("new@corp.local")),
        reader.put(f"/Users/{user['id']}", user),
        reader.patch(f"/Users/{user['id']}", operation),
        reader.patch(f"/Users/{user['id']}", {"op": "replace", "path": "active", "value": False}),
        reader.delete(f"/Users/{user['id']}"),
        reader.post("/Groups", {"schemas": [people.GROUP], "displayName": "New"}),
        reader.put(f"/Groups/{group['id']}", group),
        reader.patch(f"/Groups/{group['id']}", operation),
        reader.delete(f"/Groups/{group['id']}"),
        reader.post("/Bulk", {"Operations": []}),
    ):
        assert_error(answer, 403)
        assert "read-only" in answer.json()["detail"]
    assert Change.objects.count() == before


def test_a_token_is_refused_from_other_addresses_with_a_log_line_and_without_a_row(
    directory: Directory, caplog: Any, django_capture_on_commit_callbacks: Any
) -> None:
    scim = Scim(people.make_token(directory, addresses=["192.0.2.0/24", "2001:db8::/32"]))
    scim.client.defaults["REMOTE_ADDR"] = "192.0.2.9"
    assert scim.get("/Users").status_code == 200
    scim.client.defaults["REMOTE_ADDR"] = "203.0.113.9"
    calls = ProvisioningCall.objects.count()
    with caplog.at_level(logging.INFO, "larder.security"), django_capture_on_commit_callbacks(execute=True):
        assert_error(scim.get("/Users"), 403)
    assert any("address" in str(getattr(record, "detail", "")) for record in caplog.records)
    assert ProvisioningCall.objects.count() == calls
    assert not SecurityEvent.objects.filter(kind=SecurityKind.REFUSED).exists()


@pytest.mark.parametrize(
    ("networks", "address", "is_within"),
    [
        ([], "203.0.113.9", True),
        (["192.0.2.0/24"], "192.0.2.255", True),
        (["192.0.2.0/24"], "192.0.3.0", False),
        (["192.0.2.0/24"], "::ffff:192.0.2.1", True),
        (["192.0.2.0/24"], "", False),
        (["2001:db8::/32"], "2001:db8:1::1", True),
        (["2001:db8::/32"], "192.0.2.1", False),
    ],
)
def test_an_address_is_compared_with_the_networks(networks: list[str], address: str, is_within: bool) -> None:
    assert address_ranges.holds(networks, address) is is_within


@pytest.mark.parametrize(
    "text", ["0.0.0.0/0", "::/0", "0.0.0.0/1 128.0.0.0/1", "::/1 8000::/1", "nonsense", "192.0.2.1/24", "10.0.0.0/33"]
)
def test_networks_that_are_none_or_hold_every_address_are_refused_in_the_form(
    client: Any, site: Site, directory: Directory, text: str
) -> None:
    with pytest.raises(ValidationError):
        address_ranges.parse(text.split())
    client.force_login(make.make_user("admin", site=site, role=DefaultRole.SITE_ADMINISTRATOR))
    page = f"/admin/accounts/directory/{directory.pk}/connection/"
    answer = client.post(page, {"do": "issue", "name": "HR", "dialect": "documented", "addresses": text})
    assert "errorlist" in answer.text
    assert not ProvisioningToken.objects.exists()


def test_the_form_makes_a_token_with_its_rules_and_the_page_shows_them(
    client: Any, site: Site, directory: Directory
) -> None:
    client.force_login(make.make_user("admin", site=site, role=DefaultRole.SITE_ADMINISTRATOR))
    page = f"/admin/accounts/directory/{directory.pk}/connection/"
    form = {"do": "issue", "name": "HR", "dialect": "documented", "read_only": "on", "addresses": "192.0.2.7"}
    assert "read-only, 192.0.2.7/32" in client.post(page, form, follow=True).text
    token = ProvisioningToken.objects.get()
    assert (token.read_only, token.addresses) == (True, ["192.0.2.7/32"])


def test_a_token_without_an_end_gets_the_latest_and_a_later_one_is_refused(directory: Directory, settings: Any) -> None:
    author = make.author_of(make.make_user("root", is_superuser=True))
    settings.PROVISIONING_TOKEN_DAYS = 30
    token, _ = directories.issue_token(directory, "First", author=author)
    assert token.expires is not None
    assert abs(token.expires - now() - 30 * DAY) < DAY
    with pytest.raises(ValidationError, match="at most 30 days"):
        directories.issue_token(directory, "Second", author=author, expires=now() + 40 * DAY)
    settings.PROVISIONING_TOKEN_DAYS = 0
    token, _ = directories.issue_token(directory, "Third", author=author)
    assert token.expires is None


def test_administrators_are_mailed_once_14_days_before_a_token_ends(
    site: Site, directory: Directory, mailoutbox: Any
) -> None:
    make.make_user("admin", site=site, role=DefaultRole.SITE_ADMINISTRATOR, email="admin@corp.local")
    make.make_user("reader", site=site, role=DefaultRole.READER, email="reader@corp.local")
    people.make_token(directory, expires=now() + 13 * DAY)
    people.make_token(directory, expires=now() + 15 * DAY)
    people.make_token(directory, expires=now() + 13 * DAY, revoked=now())
    assert look_after_credentials.call()["announced"] == 1
    assert look_after_credentials.call()["announced"] == 0
    run_tasks()
    assert [message.to for message in mailoutbox] == [["admin@corp.local"]]
    assert "ends on" in mailoutbox[0].body


def test_a_token_that_expired_is_noted_once_and_shown_as_expired(directory: Directory) -> None:
    people.make_token(directory, expires=now() - DAY)
    assert look_after_credentials.call()["tokens"] == 1
    assert look_after_credentials.call()["tokens"] == 0
    token = ProvisioningToken.objects.get()
    assert (token.state, token.revoked) == ("expired", token.expires)
    assert SecurityEvent.objects.filter(kind=SecurityKind.TOKEN_ENDED).count() == 1
