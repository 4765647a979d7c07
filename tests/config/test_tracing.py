"""Traces show operations and statements, continue the caller's trace, and hold no value."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.db.transaction import atomic
from django_tasks_db.models import DBTaskResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from config import tracing
from records.operations import mails
from records.operations.housekeeping import clean_up
from tests.conftest import Api

ROOT = Path(__file__).resolve().parents[2]
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    """Return what keeps the spans that are made from now on."""
    memory = InMemorySpanExporter()
    tracing.start(memory)
    yield memory
    tracing.stop()


def spans_of(exporter: InMemorySpanExporter) -> list[Any]:
    """Return the spans that have ended, in the order in which they did."""
    return list(exporter.get_finished_spans())


def text_of(spans: Any) -> str:
    """Return everything that spans say, as it would be sent."""
    return "".join(span.to_json() for span in spans)


def test_a_request_is_a_span_named_by_its_operation_with_its_statements_below(
    api: Api, exporter: InMemorySpanExporter
) -> None:
    answer = api.post("/item/AddItem", {"Name": "Needle in a haystack"})
    *statements, request = spans_of(exporter)
    assert (request.name, request.kind) == ("AddItem", SpanKind.SERVER)
    assert request.attributes == {
        "larder.request_id": answer["X-Request-Id"],
        "http.response.status_code": 200,
    }
    assert statements
    for span in statements:
        assert span.parent.span_id == request.context.span_id
        assert span.kind == SpanKind.CLIENT
        assert span.attributes["db.system.name"] == connection.vendor
    assert any("INSERT INTO" in span.attributes["db.query.text"] for span in statements)
    assert "eedle" not in text_of([request, *statements])
    assert api.key is not None
    assert api.key.secret not in text_of([request, *statements])


def test_a_request_continues_the_trace_of_its_caller(api: Api, exporter: InMemorySpanExporter) -> None:
    api.get("/item/GetItemList", traceparent=f"00-{TRACE}-{PARENT}-01")
    request = spans_of(exporter)[-1]
    assert f"{request.context.trace_id:032x}" == TRACE
    assert f"{request.parent.span_id:016x}" == PARENT
    exporter.clear()
    api.get("/item/GetItemList", traceparent="nonsense")
    assert exporter.get_finished_spans()[-1].parent is None


def test_a_task_is_a_span_named_by_its_path(db: None, exporter: InMemorySpanExporter) -> None:
    task = DBTaskResult.objects.get(pk=clean_up.enqueue().id)
    with mails.running(task):
        clean_up.call()
    span = exporter.get_finished_spans()[-1]
    assert (span.name, span.kind) == ("records.operations.housekeeping.clean_up", SpanKind.CONSUMER)
    assert span.attributes == {"larder.request_id": str(task.pk)}


def test_a_failure_shows_its_kind_and_not_its_message(db: None, exporter: InMemorySpanExporter) -> None:
    task = DBTaskResult.objects.get(pk=clean_up.enqueue().id)
    with pytest.raises(DatabaseError), atomic(), mails.running(task), connection.cursor() as cursor:
        cursor.execute("SELECT needle FROM haystack WHERE name = %s", ["Ann"])
    statement, request = exporter.get_finished_spans()
    assert statement.status.status_code is request.status.status_code is StatusCode.ERROR
    expected = "42P01" if connection.vendor == "postgresql" else "OperationalError"
    assert statement.status.description == expected
    assert "Ann" not in text_of([statement, request])
    assert "does not exist" not in text_of([statement, request])


def test_statements_of_commands_make_no_spans(db: None, exporter: InMemorySpanExporter) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    assert exporter.get_finished_spans() == ()


@pytest.mark.parametrize(
    ("endpoint", "expected"), [("", "[] False"), ("http://127.0.0.1:4318", "[] True")], ids=["off", "on"]
)
def test_nothing_is_imported_where_no_collector_is_named_and_only_the_package_where_one_is(
    endpoint: str, expected: str, tmp_path: Path
) -> None:
    code = (
        "import sys, config.wsgi; from records.history import origin; "
        "print([name for name in sys.modules if name.startswith('opentelemetry.sdk')], bool(origin._around))"
    )
    variables = {"ENV_FILE": "", "DATA_DIR": str(tmp_path), "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "DATABASE_URL") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment | variables, capture_output=True, text=True
    )
    assert done.stdout.strip() == expected, done.stderr
