"""Traces for OpenTelemetry: a span for each request, task and statement, without any value (the extra `otel`).

Nothing of OpenTelemetry is imported unless OTEL_EXPORTER_OTLP_ENDPOINT is set.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db import connection

from config import statements
from records.history.origin import Origin, origin, surround_by

WITHOUT_MESSAGES: dict[str, Any] = {"record_exception": False, "set_status_on_exception": False}
"""Messages of exceptions may quote values, so a span holds only their type or code."""


def start(exporter: Any = None) -> "Spans":
    """Send spans from now on: to the collector that the settings name, or each one at once to the given exporter."""
    spans = Spans(exporter)
    surround_by(spans.of_origin)
    statements.surround_by(spans.of_statement)
    return spans


def stop() -> None:
    """Make no more spans."""
    surround_by(None)
    statements.surround_by(None)


class Spans:
    """Makes the spans of one process.

    The tracer is made at its first use, which is after the fork of a server's process: the thread that sends spans does
    not survive a fork.
    """

    def __init__(self, exporter: Any) -> None:
        self.exporter = exporter

    @cached_property
    def tracer(self) -> Any:
        """Return OpenTelemetry's tracer."""
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

        provider = TracerProvider(resource=Resource.create({SERVICE_NAME: settings.TRACES_SERVICE}))
        if self.exporter is not None:
            provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        else:
            address = f"{settings.TRACES_URL.rstrip('/')}/v1/traces"
            provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=address)))
        return provider.get_tracer("larder")

    @contextmanager
    def of_origin(self, cause: Origin) -> Iterator[None]:
        """Run a request or a task in a span of its own; a request continues the trace that its caller began."""
        from opentelemetry.trace import SpanKind, Status, StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        kind = SpanKind.CONSUMER if cause.headers is None else SpanKind.SERVER
        context = TraceContextTextMapPropagator().extract(dict(cause.headers or {}))
        with self.tracer.start_as_current_span(cause.operation(), context, kind, **WITHOUT_MESSAGES) as span:
            span.set_attribute("larder.request_id", cause.id)
            try:
                yield
            except BaseException as error:
                span.set_status(Status(StatusCode.ERROR, type(error).__qualname__))
                raise
            finally:
                span.update_name(cause.operation())
                if cause.status is not None:
                    span.set_attribute("http.response.status_code", cause.status)
                    if cause.status >= 500:
                        span.set_status(Status(StatusCode.ERROR))

    @contextmanager
    def of_statement(self, sql: object) -> Iterator[None]:
        """Run a statement in a span below the one of its request or task."""
        if origin() is None:
            yield
            return
        from opentelemetry.trace import SpanKind, Status, StatusCode

        text = statements.without_values(sql)
        facts = {"db.system.name": connection.vendor, "db.query.text": text}
        name = text.partition(" ")[0]
        with self.tracer.start_as_current_span(
            name, kind=SpanKind.CLIENT, attributes=facts, **WITHOUT_MESSAGES
        ) as span:
            try:
                yield
            except Exception as error:
                span.set_status(Status(StatusCode.ERROR, statements.sqlstate_of(error) or type(error).__qualname__))
                raise
