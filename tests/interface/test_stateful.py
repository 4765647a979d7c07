"""Calls that an outsider makes up from the OpenAPI document, led along its links from adds to reads and changes.

Every answer must be one that the document declares: its status, media type, headers and shape. The calls are made up
before the first is sent, so that they do not depend on what was answered and are the same in every run.
"""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.test.client import ClientHandler
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from records.sites.models import Site
from tests import make
from tests.interface.subjects import ENDPOINT_OPERATIONS, body_for, record_for
from tests.make.oauth import make_token

ROUNDS = 10

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
OPERATIONS = {operation.name: operation for operation, _ in ENDPOINT_OPERATIONS}
QUIET = settings(
    max_examples=ROUNDS // 2 + 1,  # Plain rounds need none, and the first is the plainest that the document allows.
    phases=[Phase.generate],
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


HANDLER = ClientHandler(enforce_csrf_checks=False)


def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Answer a request (PEP 3333) as Django's test client does, which leaves the test's connection open."""
    response: Any = HANDLER(environ)
    start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
    return list(response)


@pytest.fixture
def operations() -> dict[str, Any]:
    """Return the operations of the document as the fuzzer reads them, by name; it makes up what the document allows."""
    document = json.loads(json.dumps(SchemaGenerator().get_schema(public=True), default=str))
    schema = schemathesis.openapi.from_dict(document, config=schemathesis.Config())
    schema.config.generation.update(modes=[schemathesis.GenerationMode.POSITIVE], allow_x00=False)
    schema.app = application
    results: list[Any] = list(schema.get_all_operations())
    return {operation.definition.raw["operationId"]: operation for operation in (result.ok() for result in results)}


def calls_of(operation: Any) -> list[Any]:
    """Return calls of an operation that the document allows."""
    cases: list[Any] = []

    @QUIET
    @given(case=operation.as_strategy())
    def collect(case: Any) -> None:
        cases.append(case)

    collect()
    return cases


class Outsider:
    """Sends calls with valid credentials, and knows what it was answered."""

    def __init__(self, site: Site) -> None:
        key = make.make_key(site)
        self.site_id = str(site.pk)
        self.headers = {**key.headers, "Authorization": f"Bearer {make_token(key.user)}"}
        self.valid = {
            operation.name: body_for(operation, site)
            for operation in OPERATIONS.values()
            if operation.request is not None
        }
        self.ids = {
            operation.name: str(record_for(operation, site).pk)
            for operation in OPERATIONS.values()
            if operation.takes_id
        }
        self.statuses: Counter[tuple[str, int]] = Counter()
        self.follows: Counter[tuple[str, str]] = Counter()

    def send(self, case: Any, name: str, link: dict[str, Any], *, plain: bool) -> Any:
        """Send a call and check its answer. A plain one is valid as a whole; others keep all that can be made up."""
        operation, valid = OPERATIONS[name], self.valid.get(name, {})
        case.query = {} if plain else dict(case.query or {})
        case.headers = {} if plain else dict(case.headers or {})
        case.query |= {parameter.name: self.site_id for parameter in operation.parameters if parameter.required}
        if plain and valid:
            case.body = dict(valid)
        elif isinstance(case.body, dict):
            case.body = {
                field: valid[field] if field in valid and names_records(value) else value
                for field, value in case.body.items()
            }
        if operation.takes_id:
            case.path_parameters = {"id": link.pop("id", None) or self.ids[name]}
        for parameter, value in link.items():
            place, _, header = parameter.rpartition(".")
            (case.headers if place else case.query)[header] = value
        response = case.call(headers=self.headers)
        case.validate_response(response, checks=CHECKS)
        self.statuses[name, response.status_code] += 1
        return response


def names_records(value: Any) -> bool:
    """Return whether a made-up value stands for records: an Id, or an array of objects."""
    return (isinstance(value, str) and len(value) == 36) or (isinstance(value, list) and bool(value))


def link_parameters(link: dict[str, Any], response: Any, site_id: str) -> dict[str, Any]:
    """Return the parameters that a link takes from an answer, without those that it does not have."""
    parameters: dict[str, Any] = {}
    for name, expression in link["parameters"].items():
        if expression.startswith("$response.body#"):
            value = response.json()
            for part in expression.partition("#/")[2].split("/"):
                value = value.get(part) if isinstance(value, dict) else next(iter(value), {})
            parameters[name] = value
        elif expression.startswith("$response.header."):
            parameters[name] = response.headers[expression.rpartition(".")[2].lower()][0]
        else:
            assert expression == "$request.query.siteId"
            parameters[name] = site_id
    return parameters


@pytest.mark.long
def test_an_outsider_who_follows_the_links_of_the_document_meets_what_it_declares(
    operations: dict[str, Any], site: Site, settings: Any
) -> None:
    settings.RATE_LIMIT = 1_000_000
    outsider = Outsider(site)
    answers_of = {name: operation.definition.raw["responses"]["200"] for name, operation in operations.items()}
    links: dict[str, dict[str, Any]] = {name: answer.get("links", {}) for name, answer in answers_of.items()}
    leading: dict[str, list[str]] = defaultdict(list)
    for source, targets in links.items():
        for target in targets:
            leading[target].append(source)
    assert operations.keys() == OPERATIONS.keys()
    # What adds or lists comes first, then what reads, then what changes.
    order = sorted(
        OPERATIONS, key=lambda name: (OPERATIONS[name].takes_id, OPERATIONS[name].takes_id and OPERATIONS[name].writes)
    )
    calls = {name: calls_of(operations[name]) for name in order}
    for number in range(ROUNDS):
        answers: dict[str, Any] = {}
        for name in order:
            case = calls[name][-1 - number // 2 % len(calls[name])].derive()
            sources = leading[name] or [""]
            source = sources[number // 2 % len(sources)]
            link = link_parameters(links[source][name], answers[source], outsider.site_id) if source in answers else {}
            outsider.follows[source, name] += bool(link.get("id"))
            response = outsider.send(case, name, link, plain=number % 2 == 0)
            if response.status_code == 200:
                answers[name] = response
    assert {name for name, status in outsider.statuses if status == 200} == OPERATIONS.keys()
    ways = {(source, target) for source, targets in links.items() for target in targets}
    assert {way for way in ways if not outsider.follows[way]} == set()


def test_the_page_says_how_many_calls_are_made_up() -> None:
    page = Path(__file__).parents[2] / "docs" / "conformance.md"
    assert (
        f"| schemathesis: {ROUNDS * len(OPERATIONS)} calls that it makes up, ten of each operation"
        in page.read_text("utf-8")
    )
