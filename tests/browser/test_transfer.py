"""Importing a file in a browser: the report, the reason, and pages that everybody can use."""

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from records.accounts.models import DefaultRole, User
from records.items.models import Item
from records.sites.models import Site
from tests import make
from tests.make_items import make_item


def accessible(page: Page) -> None:
    """Fail on every serious or critical violation."""
    found = Axe().run(page).response["violations"]
    assert not [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]


@pytest.mark.django_db(transaction=True)
def test_a_manager_imports_a_file(site: Site, page_of: Callable[[User], Page]) -> None:
    item = make_item(site, name="Scale", location="Hall 1")
    page: Any = page_of(make.make_user(site=site, role=DefaultRole.MANAGER))
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/admin/items/item/")
    page.click("text=Import")
    accessible(page)

    def upload(content: str) -> None:
        page.set_input_files("input[name=file]", {"name": "a.csv", "mimeType": "text/csv", "buffer": content.encode()})
        page.click("text=Check the file")

    upload(f"Id,Name,Location\n{item.pk},,Hall 2\n")
    assert "Name: This field is required." in page.inner_text("main")
    accessible(page)
    page.click("text=Choose another file")
    upload(f"Id,Name,Location\n{item.pk},Scale,Hall 2\n,Oven,Hall 3\n")
    accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.fill("textarea[name=change_reason]", "Moved")
    page.click("button:text-is('Import')")
    assert "Imported: 1 added, 1 changed, 0 unchanged." in page.inner_text("main")
    assert set(Item.objects.values_list("name", "location")) == {("Scale", "Hall 2"), ("Oven", "Hall 3")}
