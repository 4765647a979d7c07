"""What reference fields offer: nothing of another site, whatever field somebody asks for by name."""

from typing import Any

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse

from records.accounts import directories
from records.accounts.models import DefaultRole
from records.reference.actions import add_entry
from records.reference.models import Rating
from records.sites.models import Site
from tests import make
from tests.make.backoffice import browser

ELSEWHERE = ("Elsewhere scale", "Elsewhere answer", "Elsewhere directory", "Harbour Dairy")


def choices_of(client: Client, field: str, site: Site) -> list[str]:
    """Return what the field offers at the site; nothing where the question is refused."""
    answer = client.get(reverse("admin:choose"), {"field": field, "site": str(site.pk)})
    assert answer.status_code in (200, 403, 404), answer.status_code
    return [row["text"] for row in answer.json()["results"]] if answer.status_code == 200 else []


@pytest.mark.parametrize("role", [DefaultRole.READER, DefaultRole.SITE_ADMINISTRATOR])
def test_no_field_of_any_form_offers_what_is_another_sites(site: Site, other_site: Site, role: DefaultRole) -> None:
    values: dict[str, Any] = {"name": ELSEWHERE[0], "responses": [{"name": ELSEWHERE[1]}], "bands": []}
    add_entry(Rating, values, author=make.SYSTEM, site_id=other_site.pk)
    directories.add_directory(ELSEWHERE[2], other_site, author=make.SYSTEM)
    client = browser(site, role)
    fields = [
        f"{model._meta.label_lower}.{field.name}"
        for model in apps.get_models()
        for field in (*model._meta.concrete_fields, *model._meta.many_to_many)
        if field.related_model is not None
    ]
    assert "audits.auditprogram.rating_response" in fields
    leaks = {field: texts for field in fields if (texts := set(choices_of(client, field, site)) & set(ELSEWHERE))}
    assert leaks == {}


def test_a_program_offers_the_responses_of_its_own_sites_ratings(site: Site) -> None:
    add_entry(Rating, {"name": "Scale", "responses": [{"name": "Good"}]}, author=make.SYSTEM, site_id=site.pk)
    assert choices_of(browser(site), "audits.auditprogram.rating_response", site) == ["Good"]


def test_a_superuser_says_which_sites_a_directory_sees(site: Site, other_site: Site) -> None:
    root = browser(site, user=make.make_user("root", is_superuser=True))
    assert choices_of(root, "accounts.directory.sites", site) == ["Harbour Dairy", "Hillside Bakery"]
