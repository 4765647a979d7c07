"""On which databases `make test` runs a test: the nearest mark decides, and without one its fixtures do."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests import division
from tests.division import BOTH, databases_of

TESTS = Path(__file__).resolve().parent.parent


@pytest.mark.one_database("postgresql")
class Pages:
    """Stands for a file whose tests run on PostgreSQL only."""

    def _page(self, client: Any, db: None) -> None: ...

    @pytest.mark.both_databases
    def _race(self, client: Any, db: None) -> None: ...


@pytest.mark.django_db
class Anything:
    """Stands for a file without such a mark."""

    def _operation(self) -> None: ...

    def _count(self, django_assert_num_queries: Any) -> None: ...

    @pytest.mark.django_db(transaction=True)
    def _commit(self) -> None: ...

    @pytest.mark.both_databases
    def _error(self) -> None: ...

    @pytest.mark.one_database("sqlite")
    def _outside_program(self) -> None: ...

    @pytest.mark.one_database("oracle")
    def _of_a_wrong_name(self) -> None: ...

    @pytest.mark.one_database
    def _of_no_name(self) -> None: ...


class WithoutDatabase:
    """Stands for a file that uses no database."""

    def _text(self, tmp_path: Path) -> None: ...

    @pytest.mark.both_databases
    def _process(self, tmp_path: Path) -> None: ...

    def _server(self, live_server: Any) -> None: ...


def item_of(request: pytest.FixtureRequest, group: type, name: str) -> pytest.Item:
    """Return the test as pytest collects it."""
    collector = pytest.Class.from_parent(request.node.parent, name=group.__name__, obj=group)
    return pytest.Function.from_parent(collector, name=name)


@pytest.mark.parametrize(
    ("group", "name", "expected"),
    [
        (Pages, "_page", {"postgresql"}),
        (Pages, "_race", BOTH),
        (Anything, "_operation", BOTH),
        (Anything, "_outside_program", {"sqlite"}),
        (WithoutDatabase, "_text", {"sqlite"}),
        (WithoutDatabase, "_process", BOTH),
        (WithoutDatabase, "_server", BOTH),
    ],
)
def test_the_nearest_mark_and_the_fixtures_decide(
    request: pytest.FixtureRequest, group: type, name: str, expected: set[str]
) -> None:
    assert databases_of(item_of(request, group, name)) == expected


@pytest.mark.parametrize(
    ("group", "name", "expected"),
    [
        (Anything, "_operation", {"postgresql"}),
        (Anything, "_count", BOTH),
        (Anything, "_commit", BOTH),
        (Anything, "_error", BOTH),
        (Anything, "_outside_program", {"sqlite"}),
        (WithoutDatabase, "_text", {"sqlite"}),
        (WithoutDatabase, "_server", BOTH),
    ],
)
def test_of_a_listed_file_only_what_can_differ_runs_on_sqlite_as_well(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, group: type, name: str, expected: set[str]
) -> None:
    monkeypatch.setattr(division, "FILES", {Path(__file__)})
    assert databases_of(item_of(request, group, name)) == expected


def test_every_listed_file_is_there() -> None:
    assert [path for path in division.FILES if not path.is_file()] == []


@pytest.mark.parametrize("name", ["_of_a_wrong_name", "_of_no_name"])
def test_a_mark_without_a_database_of_the_suite_is_refused(request: pytest.FixtureRequest, name: str) -> None:
    with pytest.raises(pytest.UsageError, match="names none of postgresql, sqlite"):
        databases_of(item_of(request, Anything, name))


def test_no_test_of_one_database_is_skipped_on_that_database() -> None:
    """A module that asks which database it has is a test of both, so it does not say that it runs on one of them."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py") if path != Path(__file__)}
    marked = {name: text for name, text in texts.items() if re.search(r"mark\.one_database\(", text)}
    assert len(marked) > 30
    assert [name for name, text in marked.items() if re.search(r"connections?\b.*\.vendor", text)] == []
