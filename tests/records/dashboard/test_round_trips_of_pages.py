"""How often the pages with most queries wait for PostgreSQL, if nothing was written since they were last opened."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.sites.models import Site
from tests.make.backoffice import browser
from tests.make.complaints import make_complaint
from tests.make.items import make_item

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("page", "query", "most"),
    [("index", {}, 9), ("search", {"q": "rye"}, 7), ("search", {"q": "12"}, 6), ("monthly_paper", {}, 7)],
)
def test_a_page_waits_only_a_few_times(site: Site, monkeypatch: Any, page: str, query: Any, most: int) -> None:
    make_complaint(site)
    make_item(site, name="Rye mill")
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    client.get(reverse(f"admin:{page}"), query)
    batches: list[int] = []
    together = connection.together  # type: ignore[attr-defined]

    def count(statements: Any, *also: Any) -> Any:
        batches.append(len(statements))
        return together(statements, *also)

    monkeypatch.setattr(connection, "together", count)
    with CaptureQueriesContext(connection) as statements:
        assert client.get(reverse(f"admin:{page}"), query).status_code == 200
    assert len(statements) - sum(batches) + len(batches) <= most
