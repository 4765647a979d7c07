"""The two runs of `make test`: together they have every test, and what can differ is in both."""

import re
from pathlib import Path

from tests.division import BOTH, divided

TESTS = Path(__file__).resolve().parent.parent
PAGES, NO_DATABASE = "tests/records/backoffice/test_saved_filters.py", "tests/config/test_audit.py"
OPERATIONS, GUIDE = "tests/records/items/test_items.py", "tests/guides/test_webhooks_guide.py"


def test_each_test_runs_on_the_databases_that_its_marks_and_fixtures_say_and_on_one_at_least() -> None:
    every, on = divided(PAGES, NO_DATABASE, OPERATIONS, GUIDE)
    assert every == on["sqlite"] | on["postgresql"]
    where: dict[str, set[frozenset[str]]] = {}
    for test in every:
        where.setdefault(test.partition("::")[0], set()).add(frozenset(name for name in BOTH if test in on[name]))
    assert where == {
        PAGES: {frozenset(("postgresql",)), BOTH},
        NO_DATABASE: {frozenset(("sqlite",))},
        OPERATIONS: {BOTH},
        GUIDE: {frozenset(("sqlite",))},
    }
    assert {test.rpartition("::")[2] for test in every if PAGES in test and test in on["sqlite"]} == {
        "test_saving_under_a_name_of_ones_own_again_replaces_it"
    }


def test_no_test_of_one_database_is_skipped_on_that_database() -> None:
    """A module that asks which database it has is a test of both, so it does not say that it runs on one of them."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")}
    marked = {name: text for name, text in texts.items() if re.search(r"mark\.one_database\(", text)}
    assert len(marked) > 30
    assert [name for name, text in marked.items() if re.search(r"connections?\b.*\.vendor", text)] == []
