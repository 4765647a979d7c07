"""Every operation of the OpenAPI document, called with what schemathesis makes of the document."""

from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from config.wsgi import application
from records.history.models import Change
from records.sites.models import Site
from tests.interface.subjects import ROWS, stored
from tests.make.materials import MaterialApi, make_api

document = schemathesis.openapi.from_wsgi("/openapi.json", application)
ROW_OF = {row.name: row for row, _ in ROWS}
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
"""What an answer always is. Whether a body is right or wrong is more than the document's schemas can say."""


@pytest.fixture
def _kept_connection() -> Any:
    """Keep the test's connection open over requests that do not come from Django's own test client."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def caller(site: Site, settings: Any) -> MaterialApi:
    """Return a Manager at the site, with a key and a token."""
    settings.RATE_LIMIT = 10**6
    return make_api(site)


@pytest.mark.django_db
@pytest.mark.usefixtures("_kept_connection")
@document.parametrize()
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_answer_is_one_that_the_document_names(case: Any, caller: MaterialApi) -> None:
    name = case.operation.definition.raw["operationId"]
    if case.path_parameters and "id" in case.path_parameters:
        case.path_parameters["id"] = str(stored(ROW_OF[name], caller.site).pk)
    if case.path.startswith("/materials"):
        case.query = {**(case.query or {}), "siteId": str(caller.site.pk)}
    before = Change.objects.count()
    answer = case.call_and_validate(headers=caller.headers, checks=CHECKS)
    assert answer.status_code < 400 or Change.objects.count() == before
