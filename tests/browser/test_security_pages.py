"""Pages about accounts, directories and what is in force keep to the accessibility rules in every look."""

from collections.abc import Callable
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.urls import reverse
from playwright.sync_api import Page, expect

from records.accounts.models import DefaultRole, Directory, SecurityEvent, SecurityKind, User
from records.history.trail import now
from records.sites.models import Site
from tests import make
from tests.browser.test_looks import faults_at, faults_shown, with_axe
from tests.browser.waiting import follow
from tests.make import documents as docs
from tests.make.backoffice import address
from tests.make.signing_in import give_app
from tests.scim import people

pytestmark = pytest.mark.django_db(transaction=True)
PageOf = Callable[..., Page]


@pytest.fixture
def administrator(site: Site) -> User:
    """Return a Site Administrator."""
    return make.make_user("admin", site=site, role=DefaultRole.SITE_ADMINISTRATOR)


def test_a_token_is_made_and_a_stopped_directory_goes_on(site: Site, administrator: User, page_of: PageOf) -> None:
    directory = people.make_directory(site)
    connection = reverse("admin:accounts_directory_connection", args=(directory.pk,))
    page = with_axe(page_of(administrator, site))
    faults = faults_at(page, connection)
    follow(page.get_by_role("button", name="Make a token"))
    faults += faults_shown(page, "a token without a name")
    Directory.objects.filter(pk=directory.pk).update(stopped=now())
    faults += faults_at(page, connection)
    assert faults == []


def test_steps_on_an_account_are_walked(site: Site, administrator: User, page_of: PageOf) -> None:
    person = make.make_user("mira", site=site, role=DefaultRole.READER, email="mira@corp.example")
    give_app(person)
    page, faults = with_axe(page_of(administrator, site)), []
    for step in ("end-sessions", "remove-factors", "recovery-address", "end-access"):
        where = reverse("admin:accounts_user_step", args=(person.pk, step))
        faults += faults_at(page, where)
    page.goto(reverse("admin:accounts_user_step", args=(person.pk, "remove-factors")))
    follow(page.locator("form button[type=submit]").last)
    faults += faults_shown(page, "a step without a reason")
    page.get_by_label("Reason for change").fill("Phone lost")
    follow(page.locator("form button[type=submit]").last)
    expect(page.get_by_text("has no second factor any more")).to_be_visible()
    faults += faults_shown(page, "the account after a step")
    User.objects.filter(pk=person.pk).update(is_active=False)
    faults += faults_at(page, reverse("admin:accounts_user_step", args=(person.pk, "give-access")))
    assert not Authenticator.objects.filter(user=person).exists()
    assert faults == []


def test_the_security_log_is_read(site: Site, administrator: User, page_of: PageOf) -> None:
    page = with_axe(page_of(administrator, site))
    log = reverse("admin:accounts_securityevent_changelist")
    faults = faults_at(page, f"{log}?q=nobody")
    facts = {"account_id": administrator.pk, "account_name": "admin", "address": "203.0.113.7", "site": site}
    SecurityEvent.objects.create(kind=SecurityKind.SIGNED_IN, **facts)
    faults += faults_at(page, log)
    assert faults == []


def test_the_own_sessions_and_factors_are_read(site: Site, administrator: User, page_of: PageOf) -> None:
    page = with_axe(page_of(administrator, site))
    assert faults_at(page, "/accounts/security/") + faults_at(page, "/accounts/security/sessions/") == []


def test_a_reader_opens_the_version_in_force_in_one_click(site: Site, page_of: PageOf) -> None:
    document = docs.make_document(site, b"old", name="Cleaning", file_name="old.txt")
    docs.add_version(document, b"new", file_name="draft.txt", user_to_review=[docs.make_signer(site)])
    page: Any = with_axe(page_of(make.make_user(site=site, role=DefaultRole.READER), site))
    faults = faults_at(page, address(document, "read"))
    page.set_viewport_size({"width": 1280, "height": 900})
    with page.expect_download() as got:
        page.get_by_role("link", name="Open the version in force").click()
    assert got.value.suggested_filename == "old.txt"
    faults += faults_at(page, address(document, "versions"))
    assert not page.get_by_text("draft.txt").count()
    assert faults == []
