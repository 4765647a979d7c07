"""Each page of signing in, of factors and of signatures keeps to the accessibility rules: light, dark, on a phone."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from allauth.mfa.models import Authenticator
from django.urls import reverse
from playwright.sync_api import Page, expect

from records.accounts.models import DefaultRole, User
from records.accounts.security_mails import confirmation_link
from records.backoffice import passwords
from records.sites.models import Site
from tests import make
from tests.browser.test_looks import faults_at, faults_shown, with_axe
from tests.browser.test_sign_in import at_host_name, confirm, give_authenticator, type_password
from tests.browser.waiting import follow
from tests.make.documents import make_document, make_signer
from tests.make.provider import asks_again, make_identity
from tests.make.signing_in import give_app

pytestmark = pytest.mark.django_db(transaction=True)
PageOf = Callable[..., Page]
NEW_PASSWORD = "salt and flour and 77"


@pytest.fixture
def ann(site: Site) -> User:
    """Return a reader with a mail address."""
    return make.make_user("ann", site=site, role=DefaultRole.READER, email="ann@example.com")


def test_pages_before_a_session_and_after_its_end(ann: User, page_of: PageOf, settings: Any) -> None:
    page = with_axe(page_of())
    page.goto("/admin/login/")
    page.get_by_label("User name").fill("ann")
    page.get_by_label("Password").fill("not the password")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("This user name or password is not right.")).to_be_visible()
    faults = faults_shown(page, "a wrong password")
    settings.SIGN_IN_FAILURES_ACCOUNT = 1
    for _ in range(2):
        page.get_by_label("Password").fill("not the password")
        follow(page.get_by_role("button", name="Sign in"))
    expect(page.get_by_role("alert").filter(has_text="Try again")).to_be_visible()
    faults += faults_shown(page, "too many guesses")
    settings.SIGN_IN_FAILURES_ACCOUNT = 100
    open_page = with_axe(page_of(ann))
    faults += faults_at(open_page, "/accounts/logout/")
    settings.SESSION_IDLE_MINUTES = 0
    open_page.wait_for_timeout(1_100)
    open_page.goto("/profile/")
    expect(open_page.get_by_text("Your session has ended. Sign in again to go on.")).to_be_visible()
    faults += faults_shown(open_page, "a session that has ended")
    assert faults == []


def test_a_password_is_chosen_with_a_mailed_link(ann: User, page_of: PageOf, settings: Any) -> None:
    page = with_axe(page_of())
    page.goto(urlsplit(passwords.password_link(ann, passwords.INVITATION)).path)
    faults = faults_shown(page, "choose a password")
    for field in page.locator("input[type=password]").all():
        field.fill("password")
    follow(page.locator("form button[type=submit]").last)
    faults += faults_shown(page, "a password that is too weak")
    for field in page.locator("input[type=password]").all():
        field.fill(NEW_PASSWORD)
    follow(page.locator("form button[type=submit]").last)
    expect(page.get_by_role("heading", name="Password set")).to_be_visible()
    faults += faults_shown(page, "the password is set")
    ann.refresh_from_db()
    assert ann.check_password(NEW_PASSWORD)
    assert faults == []


def test_a_recovery_address_is_confirmed(ann: User, page_of: PageOf) -> None:
    User.objects.filter(pk=ann.pk).update(pending_address="new@example.com")
    ann.refresh_from_db()
    page = with_axe(page_of(ann))
    faults = faults_at(page, urlsplit(confirmation_link(ann)).path)
    faults += faults_at(page, "/profile/address/abc/", 410)
    assert faults == []


def test_pages_of_factors(ann: User, page_of: PageOf, live_server: Any) -> None:
    page = with_axe(page_of())
    give_authenticator(page)
    start = at_host_name(page, live_server)
    type_password(page, ann, start)
    page.goto(f"{start}/accounts/security/passkeys/add/")
    confirm(page)
    page.get_by_label("Name").fill("Phone")
    page.get_by_role("button", name="Add the passkey").click()
    expect(page.get_by_role("heading", name="Write these codes down")).to_be_visible()
    Authenticator.objects.filter(user=ann, type="recovery_codes").delete()
    give_app(ann)
    key = Authenticator.objects.get(user=ann, type="webauthn").pk
    pages = ["", "app/remove/", "codes/", "codes/new/", "passkeys/", f"passkeys/{key}/", f"passkeys/{key}/remove/"]
    faults = [fault for where in pages for fault in faults_at(page, f"{start}/accounts/security/{where}")]
    for way in ("password", "code", "passkey"):
        faults += faults_at(page, f"{start}/accounts/confirm/{way}/")
    page.goto(f"{start}/accounts/confirm/code/")
    page.get_by_label("Code").fill("000000")
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("This code is not right")).to_be_visible()
    faults += faults_shown(page, "a wrong code")
    assert faults == []


def test_the_page_of_a_signature_with_a_password(site: Site, page_of: PageOf) -> None:
    signer = make_signer(site)
    version = make_document(site, user_to_review=[signer]).versions.get()
    page = with_axe(page_of(signer, site))
    faults = faults_at(page, reverse("admin:documents_sign", args=(version.pk,)))
    page.get_by_label("I have reviewed it").check()
    page.get_by_label(re.compile("password", re.IGNORECASE)).fill("not the password")
    page.get_by_role("button", name="Sign", exact=True).click()
    expect(page.get_by_text("This is not your password.", exact=True)).to_be_visible()
    faults += faults_shown(page, "a wrong password for a signature")
    faults += faults_at(page, "/admin/documents/inbox/")
    assert not version.signatures.exists()
    assert faults == []


def test_pages_of_the_companys_provider(company: Any, ann: User, page_of: PageOf, live_server: Any) -> None:
    asks_again(company, make_identity(company))
    page = with_axe(page_of())
    page.goto("/admin/login/")
    page.get_by_role("button", name="Continue with Hillside ID").click()
    expect(page.get_by_text("No account is linked with this identity.")).to_be_visible()
    faults = faults_shown(page, "an identity that nobody has linked")
    type_password(page, ann)
    page.goto("/accounts/security/")
    page.get_by_role("button", name="Link Hillside ID").click()
    confirm(page)
    again, success = (
        page.get_by_role("button", name="Link Hillside ID"),
        page.get_by_text("From now on you can sign in with this identity."),
    )
    expect(again.or_(success).first).to_be_visible()
    if again.is_visible():
        again.click()
    expect(success).to_be_visible()
    faults += faults_shown(page, "a linked identity")
    faults += faults_at(page, "/accounts/confirm/provider/")
    assert faults == []
