"""Fixtures: Chromium, and pages in which somebody is signed in."""

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.db import connections
from playwright.sync_api import Browser, Page, expect, sync_playwright

from records.accounts.models import User
from records.sites.models import Site
from tests.make.backoffice import sign_in
from tests.make.provider import use_provider
from tests.shared_fixtures import SharedFixtures

CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), "")
"""The headless shell, where it is installed, does the same with half of the processor's time."""
LOOKS = {"light": (1280, 900), "dark": (1280, 900), "phone": (390, 844)}
HIDE_UNTIL_READY = """(() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(":root { visibility: hidden } [autofocus], [aria-invalid=true] { visibility: visible }");
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  addEventListener("DOMContentLoaded", () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet);
  });
})()"""
"""Hides a page until its deferred scripts have run; Playwright waits for what it is to click until that is visible.

Otherwise a click that follows a navigation can reach a button before its script, or a `<select>` that
`static/backoffice/choose.js` is about to replace. What gets the focus at once has to be visible for that.
"""


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Mark every test of this folder."""
    for item in items:
        if "tests/browser" in str(item.path):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium(shared_fixtures: SharedFixtures, django_db_blocker: Any) -> Iterator[Browser]:
    """Start Debian's Chromium; without it the browser tests are skipped and say why.

    While Playwright's loop runs, this thread has other connections to the databases than before and after it. What
    later tests have left open in them is closed before the loop ends.
    """
    if not CHROMIUM:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium-headless-shell).")
    # Playwright's loop runs in this thread, which Django would take for asynchronous code.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright, patch.object(StaticFilesHandler, "serve", serve_to_keep):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        with django_db_blocker.unblock():
            shared_fixtures.close()
            connections.close_all()
        browser.close()


serve = StaticFilesHandler.serve


def serve_to_keep(handler: Any, request: Any) -> Any:
    """Serve a static file for an hour, as an installation does; otherwise each page asks for all of them again."""
    answer = serve(handler, request)
    answer["Cache-Control"] = "max-age=3600"
    return answer


def await_answers() -> None:
    """Wait until the server has answered what was asked last, so that it writes nothing into the next test's tables."""
    for thread in threading.enumerate():
        if thread.name.endswith("(process_request_thread)"):
            thread.join(10)


@pytest.fixture
def page_of(chromium: Browser, live_server: Any) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a page as somebody, in a look; complaints of the page's scripts fail the test."""
    contexts: list[tuple[Any, list[str]]] = []

    def open_page(user: User | None = None, site: Site | None = None, look: str = "light") -> Page:
        width, height = LOOKS[look]
        context = chromium.new_context(
            base_url=live_server.url,
            viewport={"width": width, "height": height},
            color_scheme="dark" if look == "dark" else "light",
        )
        if user is not None:
            cookie = sign_in(user, site).cookies["sessionid"].value
            context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
        context.set_default_timeout(30_000)
        context.add_init_script(HIDE_UNTIL_READY)
        page, complaints = context.new_page(), []
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        contexts.append((context, complaints))
        return page

    yield open_page
    for context, _ in contexts:
        context.close()
    await_answers()
    for _, complaints in contexts:
        assert [text for text in complaints if "Content Security" in text or "Error:" in text] == []


@pytest.fixture
def company(iam_server: Any, settings: Any, live_server: Any) -> Iterator[Any]:
    """Return the company's provider, set up in our settings."""
    use_provider(iam_server, settings, live_server.url)
    before = list(iam_server.app.before_request_funcs[None])
    yield iam_server
    iam_server.app.before_request_funcs[None][:] = before
