"""Signing in, in a browser: an authenticator app, a passkey, a recovery code, sessions, the provider, a signature."""

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.urls import reverse
from playwright.sync_api import Page, expect

from records.accounts.models import DefaultRole, User
from records.sites.models import Site
from tests import make
from tests.browser.test_looks import faults_at, faults_shown, with_axe
from tests.browser.waiting import follow
from tests.make.documents import make_document, make_signer
from tests.make.provider import asks_again, make_identity
from tests.make.signing_in import code_of_app, give_app, recovery_codes

pytestmark = pytest.mark.django_db(transaction=True)
PageOf = Callable[..., Page]


@pytest.fixture
def ann(site: Site) -> User:
    return make.make_user("ann", site=site, role=DefaultRole.READER)


def at_host_name(page: Page, live_server: Any) -> str:
    """Return the server's address with a host name: passkeys work at no bare IP address."""
    return str(live_server.url).replace("127.0.0.1", "localhost")


def type_password(page: Page, user: User, start: str = "") -> None:
    page.goto(f"{start}/admin/")
    page.get_by_label("User name").fill(user.user_name)
    page.get_by_label("Password").fill(make.PASSWORD)
    follow(page.get_by_role("button", name="Sign in"))


def confirm(page: Page) -> None:
    expect(page.get_by_role("heading", name="Confirm that it is you")).to_be_visible()
    page.get_by_label("Your password").fill(make.PASSWORD)
    page.get_by_role("button", name="Confirm").click()


def expect_signed_in(page: Page) -> None:
    """See the button that signs out; on a phone it is in the menu, so the page is widened first."""
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.get_by_role("button", name="Log out")).to_be_visible()


def log_out(page: Page) -> None:
    expect_signed_in(page)
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Sign in to Larder")).to_be_visible()


def give_authenticator(page: Page) -> None:
    """Give the browser a device that keeps passkeys and always recognises its person."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def test_an_app_is_set_up_and_its_code_and_a_recovery_code_sign_in(ann: User, page_of: PageOf) -> None:
    page = with_axe(page_of())
    type_password(page, ann)
    page.get_by_role("link", name=re.compile("Uma")).click()
    follow(page.get_by_role("link", name="Sign-in and security"))
    faults = faults_shown(page, "security")
    follow(page.get_by_role("link", name="Set up an app"))
    faults += faults_shown(page, "confirm")
    confirm(page)
    expect(page.get_by_role("button", name="Set up")).to_be_visible()
    faults += faults_shown(page, "app")
    secret = page.get_by_label("Or type this secret into the app").input_value()
    page.get_by_label("Code").fill(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))
    page.get_by_role("button", name="Set up").click()
    expect(page.get_by_role("heading", name="Write these codes down")).to_be_visible()
    faults += faults_shown(page, "codes")
    code = page.locator("ul.codes code").first.inner_text()
    log_out(page)
    type_password(page, ann)
    expect(page.get_by_role("heading", name="One more step")).to_be_visible()
    faults += faults_shown(page, "factor")
    page.get_by_label("Code").fill(code)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect_signed_in(page)
    assert code not in recovery_codes(ann)
    assert faults == []


def test_a_code_of_the_app_signs_in_and_another_name_can_be_taken_instead(ann: User, page_of: PageOf) -> None:
    give_app(ann)
    page = page_of()
    type_password(page, ann)
    follow(page.get_by_role("button", name="Sign in as somebody else"))
    type_password(page, ann)
    page.get_by_label("Code").fill(code_of_app())
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect_signed_in(page)


def test_a_passkey_is_added_signs_in_alone_and_signs_a_document(
    site: Site, page_of: PageOf, live_server: Any, settings: Any
) -> None:
    signer = make_signer(site)
    version = make_document(site, user_to_review=[signer]).versions.get()
    page = with_axe(page_of())
    give_authenticator(page)
    start = at_host_name(page, live_server)
    type_password(page, signer, start)
    page.goto(f"{start}/accounts/security/")
    page.get_by_role("link", name="Add a passkey").click()
    confirm(page)
    page.get_by_label("Name").fill("Phone")
    faults = faults_shown(page, "add a passkey")
    page.get_by_role("button", name="Add the passkey").click()
    expect(page.get_by_role("heading", name="Write these codes down")).to_be_visible()
    log_out(page)
    page.get_by_role("button", name="Use a passkey").click()
    expect_signed_in(page)
    faults += faults_at(page, f"{start}/accounts/security/passkeys/")
    expect(page.get_by_role("rowheader", name="Phone")).to_be_visible()
    signer.refresh_from_db()
    signer.set_unusable_password()
    signer.save()
    page.context.clear_cookies()
    page.goto(f"{start}/admin/login/?next={reverse('admin:documents_sign', args=(version.pk,))}")
    page.get_by_role("button", name="Use a passkey").click()
    page.get_by_label("I have reviewed it").check()
    faults += faults_shown(page, "sign with a passkey")
    page.get_by_role("button", name="Sign with a passkey").click()
    expect(page.get_by_text(": reviewed.")).to_be_visible()
    assert version.signatures.get().confirmed_by == "Passkey"
    assert faults == []


def test_a_sign_in_page_that_was_left_open_in_another_tab_says_that_it_is_out_of_date(
    ann: User, page_of: PageOf, live_server: Any
) -> None:
    page = page_of()
    start = at_host_name(page, live_server)
    page.goto(f"{start}/admin/")
    other = page.context.new_page()
    type_password(other, ann, start)
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_text("This page is out of date")).to_be_visible()
    page.reload()
    expect_signed_in(page)


def test_a_session_elsewhere_is_ended_from_the_page_of_sessions(ann: User, page_of: PageOf) -> None:
    this_page, other_page = with_axe(page_of()), page_of()
    for page in (this_page, other_page):
        type_password(page, ann)
        expect_signed_in(page)
    faults = faults_at(this_page, "/accounts/security/sessions/")
    follow(this_page.get_by_role("button", name=re.compile("^End Chrome")).first)
    faults += faults_shown(this_page, "confirm before a session ends")
    confirm(this_page)
    expect(this_page.get_by_text("The session has ended.")).to_be_visible()
    other_page.goto("/profile/")
    expect(other_page.get_by_role("heading", name="Sign in to Larder")).to_be_visible()
    this_page.goto("/profile/")
    expect_signed_in(this_page)
    assert faults == []


def test_the_companys_provider_is_linked_signs_in_and_signs_a_document(
    company: Any, site: Site, page_of: PageOf
) -> None:
    signer = make_signer(site)
    version = make_document(site, user_to_review=[signer]).versions.get()
    asks_again(company, make_identity(company))
    page = with_axe(page_of())
    type_password(page, signer)
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
    log_out(page)
    faults = faults_shown(page, "sign in with the provider")
    page.get_by_role("button", name="Continue with Hillside ID").click()
    expect_signed_in(page)
    page.goto(reverse("admin:documents_sign", args=(version.pk,)))
    page.get_by_label("I have reviewed it").check()
    page.get_by_label("Comment").fill("Read on the line.")
    page.get_by_role("button", name="Sign with Hillside ID").click()
    expect(page.get_by_text("You confirmed with Hillside ID who you are.")).to_be_visible()
    faults += faults_shown(page, "confirmed by the provider")
    page.get_by_role("button", name="Sign", exact=True).click()
    expect(page.get_by_text(": reviewed.")).to_be_visible()
    signature = version.signatures.get()
    assert (signature.confirmed_by, signature.comment) == ("Identity provider", "Read on the line.")
    assert faults == []
