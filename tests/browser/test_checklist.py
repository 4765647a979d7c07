"""An audit walked with a phone: one question a card, answers that wait for the connection, and two auditors at once."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Page, expect

from records.accounts.models import DefaultRole
from records.attachments.models import Attachment
from records.audits import workflow
from records.audits.models import AuditRecord
from records.audits.workflow import Answer
from records.history.models import Change
from tests import make
from tests.browser.test_looks import faults_shown, with_axe
from tests.browser.test_typed_text import sign_in_on
from tests.browser.waiting import expect_count, go_online
from tests.make.attachments import jpeg
from tests.make.audits import make_audit, make_checklist, make_program, make_rating, response, start
from tests.make.backoffice import address, sign_in

pytestmark = pytest.mark.django_db(transaction=True)

PageOf = Callable[..., Page]
QUESTIONS = ("Are hands washed?", "Is hair covered?", "Is the floor dry?")
STORED_ANSWERS = "Object.keys(localStorage).filter((key) => key.includes(':answers-')).length"


@pytest.fixture
def audit(site: Any) -> Any:
    program = make_program(site, checklists=[make_checklist(site, questions=QUESTIONS)], rating=make_rating(site))
    return start(make_audit(program))


def open_checklist(page: Page, audit: Any) -> Page:
    page.goto(address(audit, "read"))
    page.get_by_role("link", name="Answer as a checklist").click()
    expect(page.get_by_role("heading", name=QUESTIONS[0])).to_be_visible()
    return page


def tap(page: Page, answer: str) -> None:
    page.get_by_role("button", name=answer, exact=True).locator("visible=true").click()


def answers_of(audit: Any) -> list[str]:
    return [str(row.rating_response or "") for row in audit.findings.all()]


def test_an_audit_is_walked_over_a_connection_that_breaks(site: Any, audit: Any, page_of: PageOf) -> None:
    page = open_checklist(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site, "phone"), audit)
    expect(page.get_by_role("heading", name=QUESTIONS[1])).to_be_hidden()
    tap(page, "Yes")
    expect(page.get_by_text("All answers are saved.")).to_be_visible()
    expect(page.get_by_text("1 of 3 answered")).to_be_visible()
    assert answers_of(audit) == ["Yes", "", ""]
    page.context.set_offline(True)
    tap(page, "Next")
    expect(page.get_by_role("heading", name=QUESTIONS[1])).to_be_focused()
    tap(page, "No")
    page.get_by_label("Comment").locator("visible=true").fill("One net missing")
    page.keyboard.press("Tab")
    tap(page, "Next")
    tap(page, "Partly")
    expect(page.get_by_text("2 answers wait for the connection. Sending goes on when it is back.")).to_be_visible()
    expect_count(page, STORED_ANSWERS, 1)
    tap(page, "Finish")
    expect(page.get_by_role("heading", name="Finish")).to_be_focused()
    expect(page.get_by_role("link", name="Submit for review")).to_be_hidden()
    go_online(page)
    expect(page.get_by_text("All answers are saved.")).to_be_visible()
    expect_count(page, STORED_ANSWERS, 0)
    assert answers_of(audit) == ["Yes", "No", "Partly"]
    assert audit.findings.all()[1].comment == "One net missing"
    above, below = (
        page.get_by_role("link", name=name).bounding_box() for name in ("Submit for review", "Back to the audit")
    )
    assert above is not None
    assert below is not None
    assert below["y"] >= above["y"] + above["height"] + 4 or below["x"] >= above["x"] + above["width"] + 4
    page.get_by_role("link", name="Submit for review").click()
    page.get_by_role("button", name="Submit for review").click()
    expect(page.get_by_text("awaits its review")).to_be_visible()
    audit.refresh_from_db()
    assert (str(audit.score), audit.result) == ("50.00", "Fail")


def test_a_comment_is_kept_when_the_page_is_left_while_it_is_typed(site: Any, audit: Any, page_of: PageOf) -> None:
    page = open_checklist(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site), audit)
    page.get_by_label("Comment").locator("visible=true").press_sequentially("Loose tile")
    page.goto("/admin/")
    open_checklist(page, audit)
    expect(page.get_by_label("Comment").locator("visible=true")).to_have_value("Loose tile")
    expect(page.get_by_text("All answers are saved.")).to_be_visible()
    assert audit.findings.all()[0].comment == "Loose tile"


def test_an_answer_whose_reply_was_lost_is_stored_once_and_survives_a_reload(
    site: Any, audit: Any, page_of: PageOf
) -> None:
    page = open_checklist(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site), audit)

    def lose_the_reply(route: Any) -> None:
        route.fetch()
        route.abort()

    page.route("**/answer/", lose_the_reply)
    tap(page, "No")
    expect(page.get_by_text("1 answer waits for the connection.", exact=False)).to_be_visible()
    tap(page, "Yes")
    page.unroute_all(behavior="ignoreErrors")
    page.reload()
    expect(page.get_by_text("All answers are saved.")).to_be_visible()
    assert answers_of(audit) == ["Yes", "", ""]
    assert Change.objects.filter(record_id=audit.pk, operation="AnswerQuestion").count() == 2


def test_nothing_moves_under_a_finger_while_answers_are_sent(site: Any, audit: Any, page_of: PageOf) -> None:
    page = page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site, "phone")
    ready = "new Promise((ready) => (window.isReady = ready))"
    page.add_init_script(f"Object.defineProperty(navigator.serviceWorker, 'ready', {{value: {ready}}})")
    open_checklist(page, audit)
    no = page.get_by_role("button", name="No", exact=True).locator("visible=true")
    tap(page, "Yes")
    expect(page.get_by_text("All answers are saved.")).to_be_visible()
    place = no.bounding_box()
    expect(page.locator("[data-offline]")).to_be_hidden()
    page.evaluate("isReady()")
    expect(page.locator("[data-offline]")).to_be_visible()
    assert no.bounding_box() == place
    page.context.set_offline(True)
    tap(page, "Partly")
    expect(page.get_by_text("1 answer waits for the connection.", exact=False)).to_be_visible()
    assert no.bounding_box() == place
    page.context.set_offline(False)


def test_what_another_auditor_answered_meanwhile_is_shown_and_decided(site: Any, audit: Any, page_of: PageOf) -> None:
    page = open_checklist(with_axe(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site)), audit)
    ada = make.make_user(site=site, role=DefaultRole.MANAGER, given_name="Ada", family_name="Baker")
    other_answer = Answer(response(audit.rating_scale, "No").pk, "A puddle")
    first = audit.findings.first()
    workflow.answer_question(
        site.pk, audit.pk, first.pk, other_answer, seen=Answer(None, ""), author=make.author_of(ada)
    )
    tap(page, "Yes")
    alert = page.get_by_role("alert").locator("visible=true")
    expect(alert).to_contain_text("Ada Baker answered “No” with the comment “A puddle”")
    expect(page.get_by_role("button", name="No", exact=True).locator("visible=true")).to_have_attribute(
        "aria-pressed", "true"
    )
    assert answers_of(audit)[0] == "No"
    assert faults_shown(page, "conflict") == []
    page.get_by_role("button", name="Use my answer").click()
    expect(page.get_by_text("All answers are saved.")).to_be_visible()
    assert answers_of(audit)[0] == "Yes"


def test_an_answer_that_is_refused_is_named_and_can_be_discarded(site: Any, audit: Any, page_of: PageOf) -> None:
    page = open_checklist(with_axe(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site)), audit)
    AuditRecord.objects.filter(pk=audit.pk).update(is_archived=True)
    tap(page, "Yes")
    expect(page.get_by_text("1 answer could not be saved: see below the question.")).to_be_visible()
    expect(page.get_by_text("The audit is Archived", exact=False)).to_be_visible()
    assert faults_shown(page, "refused") == []
    page.get_by_role("button", name="Discard this answer").click()
    expect(page.get_by_text("All answers are saved.")).to_be_visible()
    assert answers_of(audit) == ["", "", ""]


def test_going_back_to_the_checklist_shows_what_is_stored_and_not_the_own_former_comment(
    site: Any, audit: Any, page_of: PageOf
) -> None:
    page = open_checklist(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site), audit)
    page.get_by_label("Comment").locator("visible=true").fill("A puddle")
    page.keyboard.press("Tab")
    expect(page.get_by_text("All answers are saved.")).to_be_visible()
    page.get_by_role("link", name="Make an action").locator("visible=true").click()
    expect(page.get_by_role("heading", name="Add action")).to_be_visible()
    ada, first = make.make_user(site=site, role=DefaultRole.MANAGER), audit.findings.first()
    other_answer, seen = Answer(None, "Dry again"), Answer(None, "A puddle")
    workflow.answer_question(site.pk, audit.pk, first.pk, other_answer, seen=seen, author=make.author_of(ada))
    page.go_back()
    expect(page.get_by_role("heading", name=QUESTIONS[0])).to_be_visible()
    expect(page.get_by_label("Comment").locator("visible=true")).to_have_value("Dry again")


def test_waiting_answers_are_gone_after_signing_out(site: Any, audit: Any, page_of: PageOf) -> None:
    page = open_checklist(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site), audit)
    page.route("**/answer/", lambda route: route.abort())
    tap(page, "Yes")
    expect(page.get_by_text("1 answer waits for the connection.", exact=False)).to_be_visible()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Sign in to Larder")).to_be_visible()
    expect_count(page, STORED_ANSWERS, 0)


def test_a_photo_belongs_to_its_question_and_the_card_keeps_to_the_rules(
    site: Any, audit: Any, page_of: PageOf
) -> None:
    page = open_checklist(with_axe(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site)), audit)
    page.locator("[data-photo]").first.set_input_files({"name": "net.jpg", "mimeType": "image/jpeg", "buffer": jpeg()})
    expect(page.get_by_text("is attached.")).to_be_visible()
    first = audit.findings.first()
    assert Attachment.objects.get().finding_id == first.pk
    tap(page, "Yes")
    assert faults_shown(page, "checklist") == []
    page.screenshot(path="build/checklist.png", full_page=True)
    sizes = page.evaluate(
        "[...document.querySelectorAll('.responses button')].filter(b => b.offsetParent).map(b => b.offsetHeight)"
    )
    assert min(sizes) >= 56
    page.get_by_role("link", name="Make an action").locator("visible=true").click()
    expect(page.get_by_role("heading", name="Add action")).to_be_visible()


PAGES = "caches.keys().then((names) => names.filter((name) => name.startsWith('larder-page:')).length)"
OPENS = re.compile(
    r"^This browser keeps the checklist, and answers that were not sent, until you sign out, at most until"
    r" 20\d\d-\d\d-\d\d \d\d:\d\d\. Until then it can be opened again here without a connection\.$"
)


NOTHING_LEAVES = """
const send = window.fetch;
window.fetch = (...given) =>
  localStorage.getItem("test-offline") ? Promise.reject(new TypeError("offline")) : send(...given);
"""
"""Keeps a page without a connection also while its service worker starts anew, which Playwright notices too late."""


def test_the_checklist_opens_again_without_a_connection_until_signing_out(
    site: Any, audit: Any, page_of: PageOf
) -> None:
    person = make.make_user(site=site, role=DefaultRole.MANAGER)
    page = page_of(person, site, "phone")
    page.add_init_script(NOTHING_LEAVES)
    open_checklist(page, audit)
    expect(page.get_by_text(OPENS)).to_be_visible()
    tap(page, "Yes")
    expect(page.get_by_text("All answers are saved.")).to_be_visible()
    page.context.set_offline(True)
    page.evaluate("localStorage.setItem('test-offline', 'yes')")
    page.reload()
    expect(page.get_by_text("1 of 3 answered")).to_be_visible()
    policy = "caches.match(location.pathname).then((kept) => kept.headers.get('Content-Security-Policy'))"
    assert "default-src 'self'" in page.evaluate(policy)
    tap(page, "Next")
    tap(page, "No")
    expect(page.get_by_text("1 answer waits for the connection.", exact=False)).to_be_visible()
    page.reload()
    expect(page.get_by_text("1 answer waits for the connection.", exact=False)).to_be_visible()
    expect(page.get_by_text("2 of 3 answered")).to_be_visible()
    assert answers_of(audit) == ["Yes", "", ""]
    page.evaluate("localStorage.removeItem('test-offline')")
    go_online(page)
    expect(page.get_by_text("All answers are saved.")).to_be_visible()
    assert answers_of(audit) == ["Yes", "No", ""]
    page.locator(".menu > summary").click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Sign in to Larder")).to_be_visible()
    expect_count(page, PAGES, 0)


def test_a_kept_checklist_is_removed_when_somebody_else_signs_in_or_the_audit_is_handed_in(
    site: Any, audit: Any, page_of: PageOf
) -> None:
    ada = make.make_user(site=site, role=DefaultRole.MANAGER)
    page = open_checklist(page_of(ada, site), audit)
    expect(page.get_by_text(OPENS)).to_be_visible()
    expect_count(page, PAGES, 1)
    workflow.cancel_audit_record(site.pk, audit.pk, author=make.author_of(ada), reason="Not needed")
    page.reload()
    expect(page.get_by_text("its checklist can no longer be filled in")).to_be_visible()
    expect_count(page, PAGES, 0)
    second = start(make_audit(audit.audit_program))
    open_checklist(page, second)
    expect(page.get_by_text(OPENS)).to_be_visible()
    other = sign_in(make.make_user("other", site=site, role=DefaultRole.READER), site).cookies["sessionid"].value
    # The address of the start: a cookie set with the page's own address would be sent to that page only.
    page.context.add_cookies([{"name": "sessionid", "value": other, "url": urljoin(page.url, "/")}])
    page.goto("/admin/")
    expect_count(page, PAGES, 0)


def test_a_photo_that_was_not_sent_is_told_and_sent_when_the_connection_is_back(
    site: Any, audit: Any, page_of: PageOf
) -> None:
    page = open_checklist(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site), audit)
    expect(page.get_by_text(OPENS)).to_be_visible()
    page.context.set_offline(True)
    page.locator("[data-photo]").first.set_input_files({"name": "net.jpg", "mimeType": "image/jpeg", "buffer": jpeg()})
    expect(page.get_by_text("1 photo was not sent: leave the page open", exact=False)).to_be_visible()
    go_online(page)
    expect(page.get_by_text("is attached.")).to_be_visible()
    expect(page.get_by_text("All answers are saved.")).to_be_visible()
    assert Attachment.objects.get().finding_id == audit.findings.first().pk


def test_answers_and_a_photo_of_a_lost_session_are_sent_once_somebody_signed_in_in_another_tab(
    site: Any, audit: Any, page_of: PageOf
) -> None:
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    page = open_checklist(page_of(manager, site), audit)
    expect(page.get_by_text(OPENS)).to_be_visible()
    page.context.clear_cookies()
    tap(page, "No")
    expect(page.get_by_text("1 answer waits for the connection.", exact=False)).to_contain_text("in another tab")
    page.locator("[data-photo]").first.set_input_files({"name": "net.jpg", "mimeType": "image/jpeg", "buffer": jpeg()})
    expect(page.get_by_text("If you are signed out, sign in again in another tab", exact=False)).to_be_visible()
    other = page.context.new_page()
    other.goto("/admin/")
    sign_in_on(other, manager)
    expect(other.get_by_role("button", name="Log out")).to_be_visible()
    page.get_by_role("button", name="Send again").click()
    expect(page.get_by_text("is attached.")).to_be_visible()
    page.evaluate("window.dispatchEvent(new Event('online'))")
    expect(page.get_by_text("All answers are saved.")).to_be_visible()
    assert answers_of(audit)[0] == "No"
    assert Attachment.objects.count() == 1


def test_answers_of_a_lost_session_are_not_sent_as_somebody_else(site: Any, audit: Any, page_of: PageOf) -> None:
    page = open_checklist(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site), audit)
    page.context.clear_cookies()
    tap(page, "No")
    expect(page.get_by_text("1 answer waits for the connection.", exact=False)).to_be_visible()
    other = page.context.new_page()
    other.goto("/admin/")
    sign_in_on(other, make.make_user("other", site=site, role=DefaultRole.MANAGER))
    expect(other.get_by_role("button", name="Log out")).to_be_visible()
    with page.expect_response("**/admin/"):
        page.evaluate("window.dispatchEvent(new Event('online'))")
    expect(page.get_by_text("1 answer waits for the connection.", exact=False)).to_be_visible()
    assert answers_of(audit) == ["", "", ""]
