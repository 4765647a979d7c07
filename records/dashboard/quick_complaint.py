"""The short form of a complaint, for a phone on the shop floor: what happened, what it was about, photos, and send.

A complaint with all required fields is submitted at once; any other is kept as a draft. Each form has an id of its own,
from which the complaint's Id is computed: a form that is sent twice, by a double click or because an answer was lost,
makes one complaint.
"""

import uuid
from collections.abc import Sequence
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts import access
from records.attachments import pages as attachment_pages
from records.backoffice.about import address_of
from records.backoffice.autocomplete import choices_at, choose_url
from records.backoffice.conflicts import changes_of
from records.backoffice.current import author_of, site_where
from records.backoffice.extension_points import RecordLink, menu_link
from records.backoffice.fields import TextField
from records.backoffice.form_errors import faults_of, show_faults
from records.backoffice.formfields import reference_field
from records.backoffice.forms import PlainForm
from records.backoffice.once import key_of_row
from records.backoffice.responses import page_response
from records.complaints import workflow
from records.complaints.actions import update_complaint_detail
from records.complaints.models import REQUIRED, Complaint
from records.history.trail import recording
from records.sites.models import Site
from records.sites.text import FREE_TEXT, NAME
from records.sites.writing import Values

LABELS = {"product": _("Product"), "customer": _("Customer"), "nonconformance": _("Kind of fault")}
CALLER = ("consumer_last_name", "consumer_phone")
"""Who called; shown to those who may see what is private to consumers."""
NEEDED_FOR_REVIEW = _("Needed for the review. Without it the complaint is kept as a draft.")


class QuickComplaintForm(PlainForm):
    """What somebody knows of a complaint when it comes in."""

    complaint_description = TextField(
        label=_("What happened"), max_length=FREE_TEXT, widget=forms.Textarea({"rows": 4}), help_text=""
    )
    trace_number = TextField(label=_("Lot or trace number"), max_length=NAME, required=False)
    consumer_last_name = TextField(
        label=_("Consumer's name"), max_length=NAME, required=False, help_text=_("Only if a consumer complains.")
    )
    consumer_phone = TextField(label=_("Consumer's phone"), max_length=NAME, required=False)
    once = forms.UUIDField(widget=forms.HiddenInput)
    larder_site = forms.UUIDField(widget=forms.HiddenInput)
    field_order = ("complaint_description", "product", "trace_number", "customer", "nonconformance", *CALLER)

    def __init__(self, site: Site, *args: object, sees_consumers: bool, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        for name in () if sees_consumers else CALLER:
            del self.fields[name]
        for name in REQUIRED:
            field = Complaint._meta.get_field(name)
            choose_from, address = partial(choices_at, field, site.pk), partial(choose_url, field, site.pk)
            self.fields[name] = reference_field(
                choose_from, address, label=LABELS[name], required=False, help_text=NEEDED_FOR_REVIEW
            )
        self.order_fields(self.field_order)


SENT_ALREADY = _(
    "This complaint was already sent, without your last changes, and it was changed since then. Open it in the list of "
    "complaints and add your changes there."
)
SENT_AGAIN = "Sent again with changes"
OWN_OPERATIONS = ("AddComplaintDraft", "SubmitComplaint")


menu_links = menu_link(
    "quick", _("Quick complaint"), "admin:quick_complaint", "complaints.add_complaint", group="Records"
)


def list_links(request: HttpRequest, model: type[Any]) -> Sequence[RecordLink]:
    """Return the entry of the menu as a button of the complaints' list."""
    return menu_links(request) if model is Complaint else ()


def quick_complaint(request: HttpRequest) -> HttpResponse:
    """Show the short form, or store what was sent; a script of the page then sends the photos one by one."""
    site = site_where(request, "complaints.add_complaint")
    initial = {"once": uuid.uuid4(), "larder_site": site.pk}
    sees_consumers = access.may(request.user, site, Complaint.ATTACHMENTS_SEEN_WITH)
    form = QuickComplaintForm(site, request.POST or None, initial=initial, sees_consumers=sees_consumers)
    by_script = "application/json" in request.headers.get("Accept", "")
    if request.method == "POST" and form.is_valid():
        try:
            complaint, is_new = _keep(request, site, form.cleaned_data)
        except ValidationError as fault:
            show_faults(form, (), fault)
        else:
            if is_new:
                _add_message(request, complaint)
            return _answer(request, complaint, form.cleaned_data["once"], by_script=by_script)
    if by_script:
        faults = [f"{fault.label}: {fault.message}" if fault.label else fault.message for fault in faults_of(form)]
        return JsonResponse({"faults": faults}, status=400)
    return page_response(
        request,
        "dashboard/quick_complaint.html",
        gettext("Quick complaint"),
        form=form,
        record_site=site,
        list_address=reverse("admin:complaints_complaint_changelist"),
        long_form=reverse("admin:complaints_complaint_add"),
        limits=attachment_pages.limits_at(site.pk),
    )


def _keep(request: HttpRequest, site: Site, data: Values) -> tuple[Complaint, bool]:
    """Store the complaint once and return it, with whether it is new; raises ValidationError."""
    names = ("complaint_description", "trace_number", *CALLER, *REQUIRED)
    values = {name: data[name] for name in names if name in data}
    author, key = author_of(request), key_of_row(request, data["once"], site.pk)
    may_submit = access.may(request.user, site, "complaints.submit_complaint")

    def submit_if_complete(complaint: Complaint) -> Complaint:
        is_whole = all(getattr(complaint, f"{name}_id") is not None for name in REQUIRED)
        if not (is_whole and may_submit and complaint.is_draft):
            return complaint
        return workflow.submit(site.pk, complaint.pk, author=author)

    complaint = Complaint.objects.filter(pk=key).first()
    if complaint is None:
        try:
            with recording():
                return submit_if_complete(workflow.add_draft(site.pk, values, author=author, key=key)), True
        except IntegrityError:
            # The same form came twice at the same moment; any other violation of a rule of the database is raised.
            complaint = Complaint.objects.filter(pk=key).first()
            if complaint is None:
                raise
    changes = {name: value for name, value in values.items() if getattr(complaint, name) != value}
    if not changes:
        return complaint, False
    # The answer to the first attempt was lost, and the person wrote on before sending again.
    if not access.may(request.user, site, "complaints.change_complaint"):
        raise ValidationError(SENT_ALREADY)
    update_submitted = partial(update_complaint_detail, may_change_completed=False)
    update = workflow.update_draft if complaint.is_draft else update_submitted
    with recording():
        update(
            site.pk,
            key,
            changes,
            author=author,
            reason=SENT_AGAIN,
            precondition=_refuse_when_changed_elsewhere,
        )
        complaint.refresh_from_db()
        return submit_if_complete(complaint), True


def _refuse_when_changed_elsewhere(complaint: Complaint) -> None:
    """Refuse to write over anything that was not written by this form, such as the erasure of a consumer."""
    other_changes = changes_of(complaint).exclude(operation__in=OWN_OPERATIONS)
    if other_changes.exclude(reason=SENT_AGAIN).exists():
        raise ValidationError(SENT_ALREADY)


def _add_message(request: HttpRequest, complaint: Complaint) -> None:
    if not complaint.is_draft:
        messages.success(request, gettext("%(complaint)s was sent and awaits its review.") % {"complaint": complaint})
        return
    missing_labels = [LABELS[name] for name in REQUIRED if getattr(complaint, f"{name}_id") is None]
    sentences = [gettext("The complaint was kept as a draft."), gettext("Complete it and submit it for review.")]
    if missing_labels:
        sentences.insert(
            1, gettext("Still missing: %(names)s.") % {"names": ", ".join(str(name) for name in missing_labels)}
        )
    messages.warning(request, " ".join(sentences))


def _answer(request: HttpRequest, complaint: Complaint, form: uuid.UUID, *, by_script: bool) -> HttpResponse:
    """Tell the page's script where to send photos, or attach those in the form and redirect to the complaint."""
    if by_script:
        attach = reverse("admin:attachments_add", args=(Complaint.ENTITY.value, complaint.pk))
        return JsonResponse({"page": address_of(complaint), "attach": attach})
    for upload in request.FILES.getlist("photos")[: attachment_pages.MOST_AT_ONCE]:
        try:
            attachment_pages.attach(request, complaint, upload, {}, attachment_pages.id_of(form, upload, {}))
        except ValidationError as fault:
            messages.error(request, f"{upload.name}: {' '.join(fault.messages)}")
    return redirect(address_of(complaint))


urlpatterns = [path("complaints/complaint/quick/", quick_complaint, name="quick_complaint")]
