"""The filters of the complaints' list that serve their handling: what to triage, what is overdue, how fast it was."""

import datetime
from typing import Any

from django.contrib import admin
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest

from records.backoffice.due import DueFilter
from records.complaints.models import RecordStatus

TO_TRIAGE = Q(record_status=RecordStatus.AWAITING_REVIEW) & (Q(owner=None) | Q(severity="") | Q(target_date=None))
"""The condition that somebody still has to say who handles a complaint, how serious it is and by when."""
WAITS_FOR_ANSWER = Q(record_status=RecordStatus.AWAITING_REVIEW, answered_on=None)
"""The condition under which a complaint can be overdue."""
RESPONSES: tuple[tuple[str, str, int | None], ...] = (
    ("3", "Within 3 days", 3),
    ("7", "4 to 7 days", 7),
    ("14", "8 to 14 days", 14),
    ("30", "15 to 30 days", 30),
    ("more", "More than 30 days", None),
)
"""Spans of response times: the value in an address, the name, and the last day of the span."""


def responses_in(span: str) -> Q:
    """Return the condition that a complaint was answered within a span of RESPONSES.

    The time runs from the complaint's moment to the midnight (UTC) with which the day of the answer begins, so an
    answer within n days is one on the n-th day after the complaint's day, or before.
    """
    condition = Q(answered_on__isnull=False, date__isnull=False)
    earlier: int | None = None
    for value, _, days in RESPONSES:
        if value == span:
            if days is not None:
                condition &= Q(answered_on__lte=F("date") + datetime.timedelta(days=days))
            return condition & Q(answered_on__gt=F("date") + datetime.timedelta(days=earlier)) if earlier else condition
        earlier = days
    return Q(pk__in=[])


class TriageFilter(admin.SimpleListFilter):
    """Shows the complaints whose owner, severity or target date is still to be decided."""

    title = "triage"
    parameter_name = "triage"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return what can be chosen."""
        return [("needed", "To be triaged")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow the list."""
        return queryset.filter(TO_TRIAGE) if self.value() == "needed" else queryset


class TargetFilter(DueFilter):
    """Shows complaints that wait for their answer, by their target dates."""

    field = "target_date"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow the list."""
        if self.value() in ("overdue", "soon"):
            queryset = queryset.filter(WAITS_FOR_ANSWER)
        return super().queryset(request, queryset)


class ResponseFilter(admin.SimpleListFilter):
    """Shows answered complaints by how long the answer took."""

    title = "response time"
    parameter_name = "response"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return what can be chosen."""
        return [(value, name) for value, name, _ in RESPONSES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow the list."""
        value = self.value()
        return queryset.filter(responses_in(value)) if value else queryset
