"""Plain functions that make items for tests."""

import itertools
from typing import Any

from records.items import actions
from records.items.models import Item
from records.sites.models import Site
from tests.make import SYSTEM

_counter = itertools.count(1)


def make_item(site: Site, **fields: Any) -> Item:
    """Make an item at the site."""
    return actions.add_item(site.pk, {"name": f"Item {next(_counter)}", **fields}, author=SYSTEM)
