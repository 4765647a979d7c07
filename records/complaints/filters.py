"""The list filters for handling complaints: which to assess, which are overdue, and how fast they were answered."""

import datetime
from typing import Any, ClassVar

from django.db.models import Case, CharField, DurationField, ExpressionWrapper, F, Q, QuerySet, Value, When
from django.db.models.lookups import LessThanOrEqual
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from records.backoffice.choice_filters import ChoiceFilter, FilterOptions
from records.backoffice.due import DueFilter
from records.complaints.models import RecordStatus

TO_TRIAGE = Q(record_status=RecordStatus.AWAITING_REVIEW) & (Q(owner=None) | Q(severity="") | Q(target_date=None))
"""The condition that a complaint still lacks an owner, a severity or a target date."""
WAITS_FOR_ANSWER = Q(record_status=RecordStatus.AWAITING_REVIEW, answered_on=None)
"""The condition that a complaint can become overdue."""
RESPONSES: tuple[tuple[str, object, int | None], ...] = (
    ("3", _("Within 3 days"), 3),
    ("7", _("4 to 7 days"), 7),
    ("14", _("8 to 14 days"), 14),
    ("30", _("15 to 30 days"), 30),
    ("more", _("More than 30 days"), None),
)
"""The ranges of response times: the value in an address, the name, and the last day of the range."""


BY_TARGET, AFTER_TARGET = "in-time", "late"
"""The values in an address for complaints that were answered by their target dates, or after them."""
RESPONSE_NAMES = {
    **{value: name for value, name, _days in RESPONSES},
    BY_TARGET: _("By the target date"),
    AFTER_TARGET: _("After the target date"),
}


_TOOK = ExpressionWrapper(F("answered_on") - F("date"), output_field=DurationField())


def _within(days: int) -> Q:
    """Return the condition that the answer came at most this number of days after the complaint's date-time.

    The database subtracts the two moments and compares the difference. Adding days to a moment would cost it ten times
    as much, because it then has to look at the calendar.
    """
    return Q(LessThanOrEqual(_TOOK, datetime.timedelta(days=days)))


def responses_in(span: str) -> Q:
    """Return the condition that a complaint was answered within a range of RESPONSES, or by or after its target date.

    The time runs from the complaint's date-time to the midnight (UTC) at which the day of the answer begins. An answer
    within n days is therefore one on or before the n-th day after the complaint's day.
    """
    if span == BY_TARGET:
        return Q(answered_on__lte=F("target_date"))
    if span == AFTER_TARGET:
        return Q(answered_on__gt=F("target_date"))
    condition = Q(answered_on__isnull=False, date__isnull=False)
    earlier: int | None = None
    for value, _name, days in RESPONSES:
        if value == span:
            if days is not None:
                condition &= _within(days)
            return condition & ~_within(earlier) if earlier else condition
        earlier = days
    return Q(pk__in=[])


def response_range() -> Case:
    """Return the expression for the range of RESPONSES in which a complaint was answered; NULL without both days.

    It is the rule of `responses_in` for all ranges at once. A large site is counted much faster with it, because each
    complaint is compared only until its range is found.
    """
    *first, (last, _name, _no_end) = RESPONSES
    ranges = [When(_within(days), then=Value(value)) for value, _name, days in first if days is not None]
    is_answered = Q(answered_on__isnull=False, date__isnull=False)
    return Case(*ranges, When(is_answered, then=Value(last)), output_field=CharField())


class TriageFilter(ChoiceFilter):
    """Shows the complaints that still lack an owner, a severity or a target date."""

    title = _("triage")
    parameter_name = "triage"
    options: ClassVar[FilterOptions] = {"needed": (_("To be triaged"), TO_TRIAGE)}


class TargetFilter(DueFilter):
    """Shows unanswered complaints by their target dates."""

    field = "target_date"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the filtered list."""
        if self.value() in ("overdue", "soon"):
            queryset = queryset.filter(WAITS_FOR_ANSWER)
        return super().queryset(request, queryset)


class ResponseFilter(ChoiceFilter):
    """Shows answered complaints by how long the answer took."""

    title = _("response time")
    parameter_name = "response"
    options: ClassVar[FilterOptions] = {value: (name, responses_in(value)) for value, name in RESPONSE_NAMES.items()}
