"""The rows of one site are selected in one way: by `at`."""

import ast
from pathlib import Path

from django.apps import apps
from django.conf import settings

from records.sites.models import EntityFolder, Site, SiteRows

ROOMS = ("config", "documents", "materials", "records", "scim")


def _filters_by_hand(source: str, models: set[str]) -> list[int]:
    """Return the lines that filter the rows of one of the models by their site without `at`."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("filter", "get", "exclude")
        and any(keyword.arg in ("site", "site_id") and _is_value(keyword.value) for keyword in node.keywords)
        and _model_of(node.func.value) in models
    ]


def _is_value(node: ast.expr) -> bool:
    """Return whether a site is given; a column of an outer query is compared by `filter`."""
    return not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "OuterRef")


def _model_of(node: ast.expr) -> str:
    """Return the name before `.objects` at the beginning of a chain of calls."""
    while isinstance(node, ast.Call | ast.Attribute):
        if isinstance(node, ast.Attribute) and node.attr == "objects" and isinstance(node.value, ast.Name):
            return node.value.id
        node = node.func if isinstance(node, ast.Call) else node.value
    return ""


def _models() -> set[str]:
    return {model.__name__ for model in apps.get_models() if isinstance(model._default_manager.all(), SiteRows)}


def test_every_query_about_the_rows_of_one_site_begins_with_at() -> None:
    models, places = _models(), []
    for room in ROOMS:
        for path in sorted((Path(settings.BASE_DIR) / room).rglob("*.py")):
            if "migrations" not in path.parts:
                places += [f"{path}:{line}" for line in _filters_by_hand(path.read_text(), models)]

    assert places == []


def test_the_rule_finds_a_filter_by_hand() -> None:
    by_hand = "Role.objects.select_related('site').filter(Q(pk=1), site_id=key)\nRole.objects.at(key).filter(pk=1)"

    assert "Role" in _models()
    assert _filters_by_hand(by_hand, {"Role"}) == [1]
    assert _filters_by_hand("Role.objects.filter(site=OuterRef('pk'))", {"Role"}) == []


def test_the_rows_of_a_site_are_found_by_the_site_or_its_id(site: Site, other_site: Site) -> None:
    folder = EntityFolder.objects.create(site=site, entity="document", name="Here")
    EntityFolder.objects.create(site=other_site, entity="document", name="There")

    assert list(EntityFolder.objects.at(site)) == [folder]
    assert list(EntityFolder.objects.at(site.pk).filter(entity="document")) == [folder]
    assert list(EntityFolder.objects.at(None)) == []
