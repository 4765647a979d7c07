"""Words in tables are broken only where a soft hyphen allows it, also where the table has to scroll."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from records.accounts.models import DefaultRole
from records.reference.models import Product
from tests import make
from tests.make.complaints import make_completed, make_entry

pytestmark = pytest.mark.django_db(transaction=True)

BROKEN = """() => {
  const broken = [];
  for (const cell of document.querySelectorAll("main :is(td, th)")) {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      for (const word of texts.currentNode.data.matchAll(/[\\p{L}\\p{N}]+(?:-\\d+)*/gu)) {
        const range = document.createRange();
        range.setStart(texts.currentNode, word.index);
        range.setEnd(texts.currentNode, word.index + word[0].length);
        // What follows a soft hyphen begins with a box of the hyphen at the end of the line before.
        const isBreakable = texts.currentNode.data[word.index - 1] === "\u00ad";
        const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
        if (tops.size > (isBreakable ? 2 : 1)) broken.push(word[0]);
      }
    }
  }
  return broken;
}"""


def test_no_word_of_a_table_is_broken(site: Any, page_of: Callable[..., Page]) -> None:
    """A table that does not fit scrolls instead."""
    role = make.make_role(site, ["complaints.complete_complaint", "attachments.view_attachment"], name="Laboratory")
    product = make_entry(Product, site, "Wholemeal loaf with sunflower seeds")
    for number in range(3):
        entry = {"trace_number": "L26330-1", "product": product, "consumer_last_name": "Featherstonehaugh"}
        make_completed(site, **entry, date=datetime.datetime(2026, 11, 28, 9 + number, tzinfo=datetime.UTC))
    page = page_of(make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR), site)
    broken: dict[str, list[str]] = {}
    for place in (
        reverse("admin:rights"),
        reverse("admin:accounts_role_change", args=(role.pk,)),
        f"{reverse('admin:trace')}?lots=L26330-1",
    ):
        page.goto(place)
        broken[place] = page.evaluate(BROKEN)
    assert not any(broken.values()), broken
