"""The page on which a person signs or rejects a version that waits for them."""

import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from documents import approvals
from documents.models import DocumentVersion, Duty
from records.accounts.confirmations import Confirmation
from records.accounts.models import User
from records.backoffice.current import author_of, show_times_of, user_of
from records.backoffice.datetimes import format_datetime
from records.backoffice.fields import TextField
from records.backoffice.form_errors import show_faults
from records.backoffice.forms import PlainForm
from records.backoffice.responses import page_response
from records.backoffice.sign_in import confirmation, provider
from records.files.storage import FileDamagedError, StorageUnavailableError
from records.sites.text import FREE_TEXT
from records.sites.writing import RecordNotFoundError

REJECT = "reject"
STATEMENTS = {Duty.REVIEW: _("I have reviewed it"), Duty.APPROVE: _("I approve it")}
BY_PROVIDER = "provider"
LONGEST_ANSWER = 20_000
"""The most characters in a passkey's answer; it usually has a few hundred, but large extensions need more."""


class SigningForm(PlainForm):
    """The form of a signature: the decision, a comment, and a confirmation of the signer's identity.

    Those who may not approve their own upload can only reject it.
    """

    decision = forms.ChoiceField(label=_("Decision"), widget=forms.RadioSelect)
    comment = TextField(
        label=_("Comment"),
        required=False,
        max_length=FREE_TEXT,
        widget=forms.Textarea({"rows": 3}),
        help_text=_("A rejection has to say what must change."),
    )
    password = forms.CharField(
        label=_("Your password"),
        strip=False,
        required=False,
        widget=forms.PasswordInput({"autocomplete": "current-password"}),
        help_text=_("Enter it again to sign."),
    )
    credential = forms.CharField(required=False, max_length=LONGEST_ANSWER, widget=forms.HiddenInput)

    def __init__(
        self, duty: Duty, ways: set[Confirmation], *args: object, confirmed: bool, own_upload: bool, **kwargs: object
    ) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["decision"]
        signs = [] if own_upload else [("sign", STATEMENTS[duty])]
        field.choices = [*signs, (REJECT, gettext("I reject it: it has to be changed"))]
        if Confirmation.PASSWORD not in ways or confirmed:
            del self.fields["password"]
        if Confirmation.PASSKEY not in ways or confirmed:
            del self.fields["credential"]


def sign(request: HttpRequest, version_id: uuid.UUID) -> HttpResponseBase:
    """Show a version that waits for this person, and record their signature or rejection."""
    user = user_of(request)
    signer = approvals.waiting_for(user).filter(version_id=version_id).first()
    if signer is None:
        messages.warning(request, gettext("This version is not waiting for your signature, or no longer is."))
        return redirect("admin:documents_inbox")
    version, duty = signer.version, Duty(signer.duty)
    show_times_of(version.document.site)
    ways = confirmation.ways_of(user)
    purpose = f"sign {version.pk}"
    confirmed = Confirmation.PROVIDER in ways and provider.confirmed_recently(request, purpose)
    initial = request.session.get(purpose) or {}
    own_upload = duty is Duty.APPROVE and version.created_by_id == user.pk
    form = SigningForm(duty, ways, request.POST or None, initial=initial, confirmed=confirmed, own_upload=own_upload)
    if request.method == "POST" and form.is_valid():
        if request.POST.get("way") == BY_PROVIDER and Confirmation.PROVIDER in ways and not confirmed:
            return _to_provider(request, version, purpose, form.cleaned_data)
        result = _submit(request, version, duty, purpose, form)
        if result:
            messages.success(request, f"{version.document}, {version}: {result}")
            return redirect("admin:documents_inbox")
    return page_response(
        request,
        "documents/sign.html",
        f"{duty.label}: {version.document}, {version}",
        form=form,
        version=version,
        document=version.document,
        own_upload=own_upload,
        since=format_datetime(version.created),
        signatures=[
            {"signature": signature, "at": format_datetime(signature.date)} for signature in version.signatures.all()
        ],
        **_ways_context(user, ways, confirmed=confirmed),
    )


def _ways_context(user: User, ways: set[Confirmation], *, confirmed: bool) -> dict[str, Any]:
    passkey = Confirmation.PASSKEY in ways and not confirmed
    return {
        "confirmed": confirmed,
        "by_password": Confirmation.PASSWORD in ways and not confirmed,
        "passkey": confirmation.passkey_challenge(user) if passkey else None,
        "provider": provider.name() if Confirmation.PROVIDER in ways else "",
        "no_way": not ways,
    }


def _to_provider(
    request: HttpRequest, version: DocumentVersion, purpose: str, data: dict[str, object]
) -> HttpResponseBase:
    """Store the entered values, and redirect to the company's identity provider, which asks for a new sign-in."""
    request.session[purpose] = {"decision": data["decision"], "comment": data["comment"]}
    page = reverse("admin:documents_sign", args=(version.pk,))
    account = str(request.user.pk)
    return provider.to_provider(request, "confirm", next_url=page, fresh=True, account=account, confirms=purpose)


def _submit(request: HttpRequest, version: DocumentVersion, duty: Duty, purpose: str, form: SigningForm) -> str:
    """Sign or reject and return the success message, or "" with the faults in the form."""
    try:
        result = _decide(request, version, duty, purpose, form.cleaned_data)
    except ValidationError as fault:
        show_faults(form, (), fault)
    except (FileDamagedError, StorageUnavailableError) as error:
        form.add_error(None, str(error) or gettext("The file storage cannot be reached. Try again."))
    except RecordNotFoundError:
        raise Http404 from None
    else:
        provider.forget_confirmation(request)
        request.session.pop(purpose, None)
        return result
    return ""


def _decide(request: HttpRequest, version: DocumentVersion, duty: Duty, purpose: str, data: dict[str, Any]) -> str:
    """Sign or reject and return the success message; raises the errors of `documents.approvals`."""

    def confirm(user: User, password: str) -> Confirmation:
        """Check the signer's identity; wrong attempts are counted like those of a sign-in."""
        return confirmation.confirm(
            request, user, purpose=purpose, password=password, passkey=data.get("credential", "")
        )

    user, author, password = user_of(request), author_of(request), data.get("password", "")
    options: dict[str, Any] = {"comment": data["comment"], "author": author, "confirm": confirm}
    if data["decision"] == REJECT:
        approvals.reject(version.pk, user, password, **options)
        return gettext("rejected.")
    if duty is Duty.REVIEW:
        approvals.sign_review(version.pk, user, password, **options)
        return gettext("reviewed.")
    approvals.approve(version.pk, user, password, **options)
    return gettext("approved.")
