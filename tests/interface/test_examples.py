"""The worked examples of the OpenAPI document, executed as they are shown (records/operations/examples.py)."""

import re
import uuid
from collections import defaultdict
from typing import Any

import orjson
import pytest

from records.accounts.models import DefaultRole
from records.operations import examples
from records.operations.examples import Example
from records.reference.actions import add_entry
from records.reference.lists import SITE_LISTS
from records.sites.models import EntityFolder, Site
from tests import make
from tests.conftest import Api
from tests.interface.subjects import ENDPOINTS, OPERATIONS
from tests.make.audits import make_worked_program
from tests.make.oauth import make_token

ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
STAMPS = ("Created", "LastModified", "created", "lastModified")


def entry_maker(model: Any) -> Any:
    return lambda site, name, **fields: add_entry(model, {"name": name, **fields}, author=make.SYSTEM, site_id=site.pk)


MAKERS: dict[str, Any] = {
    **{kind: entry_maker(model) for kind, model in SITE_LISTS.items()},
    "AuditProgram": make_worked_program,
    "EntityFolder": lambda site, name, entity: EntityFolder.objects.create(site=site, name=name, entity=entity),
}
"""Makers of samples that no example adds, by kind: they take the site, the name and what the sample is made with."""


class Play:
    """The examples on their way: which real id each sample stands for, and what did not come as shown."""

    def __init__(self, site: Site) -> None:
        self.site = site
        given_name, family = examples.CALLER_NAME.split()
        caller = make.make_user(site=site, role=DefaultRole.MANAGER, given_name=given_name, family_name=family)
        key = make.make_key(site, user=caller)
        self.api = Api(key, Authorization=f"Bearer {make_token(key.user)}")
        self.real = {examples.CALLER: str(key.user.pk), examples.sample("Site", "the site"): str(site.pk)}
        self.faults: list[str] = []

    def make_missing_samples(self, added_ids: set[str]) -> None:
        """Make every sample that no example adds and that there is a maker for."""
        for key, (kind, name, fields) in examples.samples.items():
            if key not in added_ids and key not in self.real and kind in MAKERS:
                self.real[key] = str(MAKERS[kind](self.site, name, **fields).pk)

    def knows(self, example: Example) -> bool:
        """Return whether every sample that the call names is there."""
        ids = ID.findall(f"{example.id} {example.query} {example.body}")
        return all(key in self.real or key not in examples.samples for key in ids)

    def act(self, operation: Any, viewset: Any, example: Example) -> None:
        """Send the call and compare the answer."""
        path = "/" + ENDPOINTS[viewset] + re.sub(r"<\w+:id>", self.put(example.id), operation.pattern)
        query = "&".join(f"{name}={value}" for name, value in self.put(dict(example.query)).items())
        answer = self.api.send(operation.method, f"{path}?{query}" if query else path, self.put(example.body))
        where = f"{operation.name}{f' ({example.title})' if example.title else ''}"
        if answer.status_code != example.status:
            self.faults.append(f"{where}: answered {answer.status_code}, not {example.status}: {answer.content!r}")
            return
        self.compare(where, example.answer, orjson.loads(answer.getvalue()), {*STAMPS, *example.differs})

    def put(self, value: Any) -> Any:
        """Return the value with the real ids in the place of the samples."""
        if isinstance(value, dict):
            return {name: self.put(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.put(part) for part in value]
        return ID.sub(lambda match: self.real.get(match[0], match[0]), value) if isinstance(value, str) else value

    def compare(self, where: str, example: Any, real: Any, differs: set[str], name: str = "") -> None:
        """Note where the real answer is not as shown; a sample seen for the first time stands for what came."""
        if name in differs:
            form = MOMENT if isinstance(example, str) and MOMENT.fullmatch(example) else None
            alike = type(example) is type(real) and (form is None or form.fullmatch(real))
        elif isinstance(example, dict) and isinstance(real, dict):
            alike = list(example) == list(real)
            for part in example.keys() & real.keys():
                self.compare(f"{where}.{part}", example[part], real[part], differs, part)
        elif isinstance(example, list) and isinstance(real, list):
            alike = len(example) == len(real)
            for place, (one, other) in enumerate(zip(example, real, strict=False)):
                self.compare(f"{where}[{place}]", one, other, differs)
        elif isinstance(example, str) and example in examples.samples and isinstance(real, str) and ID.fullmatch(real):
            alike = self.real.setdefault(example, real) == real
        else:
            alike = self.put(example) == real and isinstance(example, bool) == isinstance(real, bool)
        if not alike:
            self.faults.append(f"{where}: shown {self.put(example)!r}, came {real!r}")


def test_every_worked_example_answers_as_it_is_shown(site: Site) -> None:
    waiting: dict[Any, list[Any]] = defaultdict(list)
    for operation, viewset in OPERATIONS:
        waiting[viewset] += [(operation, viewset, example) for example in operation.examples]
    calls = [call for queue in waiting.values() for call in queue]
    assert len(calls) >= 12
    play = Play(site)
    play.make_missing_samples(
        {
            str(example.answer["Id"])
            for operation, _, example in calls
            if operation.method == "POST" and example.status == 200 and isinstance(example.answer, dict)
        }
    )
    while any(waiting.values()):
        count = sum(map(len, waiting.values()))
        for queue in waiting.values():
            while queue and play.knows(queue[0][2]):
                play.act(*queue.pop(0))
        stuck = [operation.name for queue in waiting.values() for operation, _, _ in queue]
        if len(stuck) == count:
            play.faults.append(f"Nothing adds, and no maker in MAKERS makes, what these name: {', '.join(stuck)}.")
            break
    assert not play.faults, "\n".join(play.faults)


@pytest.mark.parametrize("endpoint", sorted(set(ENDPOINTS.values())))
def test_every_row_has_a_worked_example(endpoint: str) -> None:
    assert [
        operation.name
        for operation, viewset in OPERATIONS
        if ENDPOINTS.get(viewset) == endpoint and not operation.examples
    ] == []


def test_samples_are_told_apart_by_kind_and_name() -> None:
    assert examples.sample("Product", "Rye") == examples.sample("Product", "Rye") != examples.sample("Brand", "Rye")
    assert uuid.UUID(examples.sample("Product", "Rye")).version == 5
