"""Fixtures: a Chromium, and a page in it for whoever is named."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from records.accounts.models import User
from tests import make


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Start the machine's Chromium once."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("There is no Chromium on this machine.")
    # The browser's event loop runs in this thread, beside Django's ordinary database calls.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def page_of(chromium: Browser, live_server: Any) -> Iterator[Callable[[User], Page]]:
    """Return a function that opens a browser of its own for a user and signs in with the password of tests."""
    contexts = []

    def sign_in(user: User) -> Page:
        context = chromium.new_context(base_url=live_server.url)
        contexts.append(context)
        page = context.new_page()
        page.goto("/admin/login/")
        page.fill("input[name=username]", user.user_name)
        page.fill("input[name=password]", make.PASSWORD)
        page.click("input[type=submit]")
        return page

    yield sign_in
    for context in contexts:
        context.close()
