"""Plain functions that make customers for tests."""

import itertools
from typing import Any

from records.customers import actions
from records.customers.models import Customer
from records.sites.models import Site
from tests.make import SYSTEM

_counter = itertools.count(1)


def make_customer(site: Site, **fields: Any) -> Customer:
    """Make a customer at the site."""
    return actions.add_customer(site.pk, {"name": f"Customer {next(_counter)}", **fields}, author=SYSTEM)
