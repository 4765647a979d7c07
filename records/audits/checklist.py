"""An audit in progress as a checklist: one card for each question, one tap to answer, each answer saved separately.

An answer also sends the values that its author saw before (compare and set). An answer that was delayed by a lost
connection, or that arrives twice, therefore never overwrites what another person has answered in the meantime.
"""

import time
import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.staticfiles import finders
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from records.accounts import access
from records.audits import workflow
from records.audits.models import AuditRecord, Finding, RecordStatus
from records.audits.workflow import Answer, AnsweredMeanwhileError
from records.backoffice.conflicts import changes_of
from records.backoffice.current import author_of, show_times_of, site_at, user_of
from records.backoffice.datetimes import format_datetime
from records.backoffice.extension_points import RecordLink
from records.backoffice.permissions import Pages, SitePermissions
from records.sites.about import about, kinds, pointer_to
from records.sites.models import Entity, permission_on
from records.sites.text import normalise, read_uuid
from records.sites.writing import RecordNotFoundError


def record_links(request: HttpRequest, record: Any) -> Sequence[RecordLink]:
    """Return the link that opens an audit in progress as a checklist, for users who may answer it."""
    if not isinstance(record, AuditRecord) or record.record_status != RecordStatus.IN_PROGRESS or record.is_archived:
        return ()
    if not access.may(request.user, record.site_id, "audits.change_auditrecord"):
        return ()
    url = reverse("admin:audits_auditrecord_checklist", args=(record.pk,))
    return (RecordLink("checklist", gettext("Answer as a checklist"), url, is_next=True),)


class ChecklistPages(SitePermissions):
    """The pages for the checklist of an audit and for saving its answers."""

    own_pages: ClassVar[Pages] = (
        ("<uuid:object_id>/checklist/", "checklist_view", "checklist"),
        ("<uuid:object_id>/checklist/worker.js", "worker_view", "worker"),
        ("<uuid:object_id>/answer/", "answer_view", "answer"),
    )

    def _answerable(self, request: HttpRequest, object_id: uuid.UUID) -> AuditRecord:
        record: AuditRecord = self.record_or_404(request, str(object_id))
        if not self.may(request, "change", record):
            raise PermissionDenied
        show_times_of(site_at(request, record.site_id))
        return record

    def checklist_view(self, request: HttpRequest, object_id: uuid.UUID) -> HttpResponse:
        """Show the questions of an audit in progress; eight queries for any number of questions."""
        record = self._answerable(request, object_id)
        if record.record_status != RecordStatus.IN_PROGRESS or record.is_archived:
            status = gettext("Archived") if record.is_archived else record.get_record_status_display()
            text = gettext("The audit is %(status)s, so its checklist can no longer be filled in.") % {"status": status}
            self.message_user(request, text, messages.WARNING)
            return redirect(self.page_of(record.pk))
        scale = record.rating_scale
        responses = list(scale.responses.filter(is_archived=False)) if scale is not None else []
        user, address_parameters = user_of(request), {"about": pointer_to(record)}
        may_add_action = access.may(user, record.site_id, "actions.add_action")
        photos, acts = (self._counts(request, record, kind) for kind in (Entity.ATTACHMENT, Entity.ACTION))
        cards: list[dict[str, Any]] = []
        for finding in record.findings.select_related("rating_response"):
            response = finding.rating_response
            choices = responses if response is None or response in responses else [*responses, response]
            query = urlencode({**address_parameters, "finding": str(finding.pk)})
            cards.append(
                {
                    "finding": finding,
                    "responses": choices,
                    "photos": photos[finding.pk],
                    "actions": acts[finding.pk],
                    "action_url": f"{reverse('admin:actions_action_add')}?{query}" if may_add_action else "",
                }
            )
        return self.page_response(
            request,
            "audits/checklist.html",
            str(record),
            original=record,
            cards=cards,
            has_scale=scale is not None,
            answered=sum(is_answered(card["finding"]) for card in cards),
            answer_url=self.url_of("answer", record.pk),
            attach_url=reverse("admin:attachments_add", args=(record.ENTITY.value, record.pk)),
            submit_url=self.url_of("step", record.pk, "submit"),
            worker_url=self.url_of("worker", record.pk),
            at=_milliseconds(),
            back=self.page_of(record.pk),
        )

    def worker_view(self, request: HttpRequest, object_id: uuid.UUID) -> HttpResponse:
        """Return the script that opens the checklist without a connection.

        Browsers limit it to the folder of its URL, which contains only the checklist of this audit.
        """
        script = Path(str(finders.find("audits/worker.js"))).read_text(encoding="utf-8")
        headers = {"Cache-Control": "no-cache"}
        return HttpResponse(script, content_type="text/javascript; charset=utf-8", headers=headers)

    def _counts(self, request: HttpRequest, record: AuditRecord, kind: Entity) -> Counter[Any]:
        """Return the number of attachments or actions of each finding that the user may see; one query."""
        model: Any = kinds()[kind]
        if not access.may(request.user, record.site_id, permission_on(model)):
            return Counter()
        rows = model.objects.filter(about(record), is_archived=False, finding_id__isnull=False).order_by()
        return Counter(dict(rows.values_list("finding_id").annotate(count=Count("pk"))))

    @method_decorator(require_POST)
    def answer_view(self, request: HttpRequest, object_id: uuid.UUID) -> HttpResponse:
        """Save one answer.

        Returns 200 with all present answers and the time in milliseconds, 409 with the present answer if it differs
        from the one that was seen, or 400. The form sends `finding`, `response` and `comment`, and the response and
        comment that were seen before.
        Without the page's script, saving redirects back to the question.
        """
        record = self._answerable(request, object_id)
        finding_id = read_uuid(request.POST.get("finding", "")) or uuid.UUID(int=0)
        by_script = "application/json" in request.headers.get("Accept", "")
        at = _milliseconds()
        try:
            answer, seen = _posted_answer(request, ""), _posted_answer(request, "seen_")
            workflow.answer_question(
                record.site_id, record.pk, finding_id, answer, seen=seen, author=author_of(request)
            )
        except AnsweredMeanwhileError as meanwhile:
            present = self._present_answer(record, meanwhile.finding)
            if by_script:
                return JsonResponse({"conflict": present}, status=409)
            text = gettext("%(who)s answered “%(answer)s” meanwhile. Your answer was not saved.") % {
                "who": present["who"],
                "answer": present["answer"],
            }
            self.message_user(request, text, messages.WARNING)
        except RecordNotFoundError:
            return JsonResponse({"faults": [gettext("There is no such audit.")]}, status=404)
        except ValidationError as fault:
            is_closed = any(error.code == "InvalidTransition" for error in _errors(fault))
            if by_script:
                return JsonResponse({"faults": fault.messages}, status=409 if is_closed else 400)
            self.message_user(request, " ".join(fault.messages), messages.ERROR)
        else:
            if by_script:
                rows = Finding.objects.filter(audit_record=record)
                answers = {str(row.pk): _answer_of(row) for row in rows}
                return JsonResponse({"answers": answers, "at": at})
        page = self.url_of("checklist", record.pk)
        return redirect(f"{page}#question-{finding_id}")

    def _present_answer(self, record: AuditRecord, finding: Finding) -> dict[str, object]:
        """Return the present answer to a question, who gave it and when."""
        change = changes_of(record).naming("row", str(finding.pk)).first()
        return {
            **_answer_of(finding),
            "answer": str(finding.rating_response or gettext("no response")),
            "who": (change.author_name if change else "") or gettext("Somebody"),
            "at": format_datetime(change.at) if change else "",
        }


def is_answered(finding: Finding) -> bool:
    """Return whether the question has a response or, if the audit has no rating, a comment."""
    if finding.audit_record.rating_scale_id is None:
        return bool(finding.comment)
    return finding.rating_response_id is not None


def _milliseconds() -> int:
    """Return the time at the server, so that the page can tell which of two sets of answers is newer."""
    return time.time_ns() // 1_000_000


def _answer_of(finding: Finding) -> dict[str, str]:
    return {"response": str(finding.rating_response_id or ""), "comment": finding.comment}


def _posted_answer(request: HttpRequest, prefix: str) -> Answer:
    """Return the answer in the submitted form; raises ValidationError."""
    response = request.POST.get(f"{prefix}response", "")
    if response and read_uuid(response) is None:
        raise ValidationError(gettext("This is not a response of the audit's rating."), code="InvalidReference")
    comment = normalise(request.POST.get(f"{prefix}comment", ""))
    return Answer(read_uuid(response) if response else None, comment if prefix else comment.strip())


def _errors(fault: ValidationError) -> list[ValidationError]:
    if hasattr(fault, "error_dict"):
        return [error for errors in fault.error_dict.values() for error in errors]
    return fault.error_list
