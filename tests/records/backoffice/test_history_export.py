"""The history as a file: of one record and of the whole site, without what the user may not see."""

import io
from typing import Any

import openpyxl
import pytest
from django.test import Client
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.backoffice import history_export
from records.backoffice.datetimes import NOTHING
from records.history.models import Change
from records.items import actions as item_actions
from records.items.models import Item
from records.sites.models import Site
from tests import make
from tests.make.backoffice import address, browser, list_address, sign_in
from tests.make.items import make_item
from tests.make.transfer import table, text_of

pytestmark = pytest.mark.django_db


def export_record(client: Client, record: Any, kind: str = "csv", query: str = "") -> Any:
    """Return the answer with the record's history as a file."""
    label = record._meta.label_lower.replace(".", "_")
    return client.get(reverse(f"admin:{label}_history_export", args=(record.pk, kind)) + query)


def export_site(client: Client, kind: str = "csv", query: str = "") -> Any:
    """Return the answer with the site's history as a file."""
    return client.get(reverse("admin:history_change_export", args=(kind,)) + query)


def content(response: Any) -> bytes:
    """Return the file."""
    assert response.status_code == 200, response.status_code
    return b"".join(response.streaming_content)


def make_changed_item(site: Site) -> Item:
    item = make_item(site, name="Scale", location="=1+1")
    for values in ({"location": "Hall 2"}, {"notes": "@cmd"}):
        item_actions.update_item(site.pk, item.pk, values, author=make.SYSTEM, reason="+Moved")
    return item


def test_a_records_history_is_exported_field_by_field_without_formulas(site: Site) -> None:
    Site.objects.filter(pk=site.pk).update(time_zone="Europe/Oslo")
    item = make_changed_item(site)
    rows = table(content(export_record(browser(site), item)))
    assert list(rows[0])[:2] == ["Number", "When (Europe/Oslo)"]
    lines = [(row["Operation"], row["Reason"], row["Field"], row["Before"], row["After"]) for row in rows]
    assert lines[:2] == [
        ("Changed", "'+Moved", "Notes", NOTHING, "'@cmd"),
        ("Changed", "'+Moved", "Location", "'=1+1", "Hall 2"),
    ]
    assert {row["Record"] for row in rows} == {"Scale"}
    sheet: Any = openpyxl.load_workbook(io.BytesIO(content(export_record(browser(site), item, "xlsx")))).active
    assert [cell.value for cell in sheet[2]][8:] == ["Notes", NOTHING, "'@cmd"]


def test_a_history_file_follows_the_pages_filter(site: Site) -> None:
    item = make_changed_item(site)
    rows = table(content(export_record(browser(site), item, query="?field=notes")))
    assert [row["Field"] for row in rows] == ["Notes"]
    page = browser(site).get(address(item, "history") + "?field=notes").content.decode()
    assert "/history/export/csv/?field=notes" in page


def test_only_those_who_see_a_history_export_it(site: Site, other_site: Site) -> None:
    item = make_changed_item(site)
    assert export_record(browser(site, DefaultRole.READER), item).status_code == 403
    assert export_record(browser(other_site), item).status_code == 404
    assert export_record(browser(site), item, "pdf").status_code == 404
    assert export_site(browser(site, DefaultRole.READER)).status_code == 403
    assert export_site(browser(site), "pdf").status_code == 404
    assert "Scale" not in content(export_site(browser(other_site))).decode()


def test_private_fields_are_left_out_of_both_files(site: Site) -> None:
    employee = make.make_employee(site, notes="Left-handed")
    clerk = make.make_user(site=site)
    make.make_role(site, ["employees.view_employee", "history.view_change"], [clerk])
    for answer in (export_record(sign_in(clerk, site), employee), export_site(sign_in(clerk, site))):
        assert "Left-handed" not in content(answer).decode()
    for answer in (export_record(browser(site), employee), export_site(browser(site))):
        assert "Left-handed" in content(answer).decode()


def test_the_sites_history_is_exported_as_it_is_filtered(site: Site) -> None:
    make_changed_item(site)
    make.make_employee(site, first_name="Bo", last_name="Li")
    rows = table(content(export_site(browser(site), query="?kind=items.Item")))
    assert {(row["Kind"], row["Record"]) for row in rows} == {("Item", "Scale")}
    assert export_site(browser(site), query="?nonsense=1").status_code == 400
    text = browser(site).get(list_address(Change) + "?kind=items.Item").content.decode()
    assert reverse("admin:history_change_export", args=("xlsx",)) + "?kind=items.Item" in text


def test_too_long_a_history_is_refused_with_a_way_out(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    item = make_changed_item(site)
    monkeypatch.setattr(history_export, "MOST_CHANGES", 2)
    client = browser(site)
    assert export_record(client, item).status_code == 302
    assert "Filter the list" in text_of(client.get(address(item, "history")))
    assert export_site(client).status_code == 302


def test_a_history_is_shown_on_one_page_to_print(site: Site) -> None:
    item = make_item(site, name="Scale")
    for number in range(30):
        item_actions.update_item(site.pk, item.pk, {"notes": str(number)}, author=make.SYSTEM, reason="Again")
    client = browser(site)
    assert len(client.get(address(item, "history")).context["changes"]) == 25
    page = client.get(address(item, "history") + "?all=yes")
    assert len(page.context["changes"]) == 31
    assert not page.context["next"]
