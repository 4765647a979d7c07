"""When the pages of the rooms are loaded: not at the start, but before anybody sees a page."""

import subprocess
import sys
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib import admin
from django.test.utils import override_script_prefix
from django.urls import reverse
from django.utils.translation import get_language, override

from records.backoffice import rooms
from records.backoffice.permissions import SitePermissions

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def unload(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], Any]], None]:
    """Return a function that lets the pages be loaded again, by the given function instead of the real modules."""

    def by(load: Callable[[str], Any]) -> None:
        monkeypatch.setattr(rooms, "_is_done", False)
        monkeypatch.setattr(rooms, "_has_begun", False)
        monkeypatch.setattr(rooms, "autodiscover_modules", load)
        monkeypatch.setattr(rooms, "apps", SimpleNamespace(get_app_configs=list))

    return by


def test_the_pages_are_loaded_when_somebody_first_asks_for_them() -> None:
    code = """
import contextlib, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
import django
django.setup()
from django.contrib import admin
from django.core.checks import run_checks
from django.urls import resolve, reverse
from records.backoffice import rooms
from records.backoffice.permissions import SitePermissions
from records.backoffice.transfer.registry import resource_of
from records.items.models import Item

asking = (
    lambda: admin.site.get_model_admin(Item),
    lambda: admin.site.get_urls(),
    lambda: resolve("/admin/items/item/"),
    lambda: resource_of(Item),
    lambda: run_checks(tags=["admin"]),
    lambda: reverse("admin:items_item_changelist"),
)
for number, ask in enumerate(asking):
    if os.fork():
        exit_code = os.waitstatus_to_exitcode(os.wait()[1])
        assert exit_code == 0, (number, exit_code)
        continue
    assert "records.items.admin" not in sys.modules
    if number < len(asking) - 1:  # Loading takes more than a second; for these it is enough that they ask for it.
        modules = []
        rooms.autodiscover_modules = modules.append
        with contextlib.suppress(Exception):
            ask()
        assert modules == ["admin", "resources"]
        break
    ask()
    assert rooms._is_done
    assert type(admin.site._registry[Item]).__name__ == "ItemAdmin"
    assert reverse("admin:search") == "/admin/search/"
    break
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_what_default_roles_permit_does_not_depend_on_whether_the_pages_are_loaded() -> None:
    code = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
import django
django.setup()
from records.accounts.default_roles import ORDER, permissions_of
from records.backoffice import rooms
from records.backoffice.permissions import SitePermissions

before = {role: permissions_of(role) for role in ORDER}
assert not rooms._is_done
rooms.load()
after = {role: permissions_of(role) for role in ORDER}
assert before == after, {role: after[role] ^ before[role] for role in ORDER}
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_whoever_asks_while_the_pages_are_being_loaded_waits(unload: Any) -> None:
    modules: list[str] = []
    has_begun, may_end = threading.Event(), threading.Event()
    counts: list[int] = []

    def load_slowly(name: str) -> None:
        has_begun.set()
        may_end.wait(30)
        modules.append(name)

    def load_and_count() -> None:
        rooms.load()
        counts.append(len(modules))

    unload(load_slowly)
    threads = [threading.Thread(target=rooms.load), threading.Thread(target=load_and_count)]
    threads[0].start()
    assert has_begun.wait(30)
    threads[1].start()
    assert counts == []
    may_end.set()
    for thread in threads:
        thread.join(30)
    assert (modules, counts) == (["admin", "resources"], [2])


def test_an_admin_module_that_asks_for_the_site_while_it_is_loaded_does_not_wait_for_itself(unload: Any) -> None:
    modules: list[str] = []

    def load_again(name: str) -> None:
        rooms.load()
        modules.append(name)

    unload(load_again)
    rooms.load()
    rooms.load()
    assert modules == ["admin", "resources"]


def test_what_is_composed_while_the_pages_are_loaded_is_in_english(unload: Any) -> None:
    languages: list[str | None] = []
    unload(lambda name: languages.append(get_language()))
    with override("de"):
        rooms.load()
    assert languages == ["en", "en"]


def test_pages_that_could_not_be_loaded_are_loaded_by_the_next_who_asks(unload: Any) -> None:
    def fail(name: str) -> None:
        raise ImportError(name)

    unload(fail)
    for _ in range(2):
        with pytest.raises(ImportError):
            rooms.load()


def test_registering_a_page_does_not_load_the_others(unload: Any) -> None:
    modules: list[str] = []
    rooms.load()
    unload(modules.append)
    with rooms.registering():
        assert admin.site._registry
    assert modules == []
    assert admin.site._registry
    assert modules == ["admin", "resources"]


def test_addresses_of_pages_of_records_are_those_of_django() -> None:
    for prefix in ("/", "/larder/"):
        with override_script_prefix(prefix):
            for page in admin.site._registry.values():
                if isinstance(page, SitePermissions):
                    key, name = uuid.uuid4(), page.page_name("read" if page.opens_reading else "change")
                    assert page.page_of(key) == reverse(f"admin:{name}", args=(key,))
                    assert page.url_of("changelist") == reverse(f"admin:{page.page_name('changelist')}")
