"""The buttons of an employee's page: giving an account, and erasing the private facts of somebody who left."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts import access
from records.accounts.models import DefaultRole
from records.backoffice.current import author_of
from records.backoffice.fields import TextField
from records.backoffice.forms import ReasonForm
from records.backoffice.tasks import invite
from records.backoffice.transitions import RecordStep, by_key
from records.employees import actions
from records.employees.erasure import IDENTIFYING, PERSONAL, erase_private_facts
from records.employees.models import Employee
from records.history.trail import recording
from records.retention.forms import EraseForm, before_erasing, who_else_names
from records.retention.pages import fault_of_erasing
from records.sites.text import NAME

MAY_GIVE_ROLES = "accounts.change_role"


class AccountForm(ReasonForm):
    """The form for an account: its user name, its role at the employee's site, and whether to mail an invitation."""

    user_name = TextField(max_length=NAME, help_text=_("What the person signs in with; often the e-mail address."))
    role = forms.ChoiceField(
        required=False,
        choices=[("", _("None yet")), *DefaultRole.choices],
        help_text=_("At the employee's site. Without a role the person can sign in and sees nothing."),
    )
    invites = forms.BooleanField(
        label=_("Mail an invitation"),
        required=False,
    )
    field_order = ("user_name", "role", "invites", "change_reason")


def _initial(employee: Employee) -> dict[str, object]:
    name = employee.email_address or ".".join(f"{employee.first_name} {employee.last_name}".lower().split())
    return {"user_name": name, "invites": bool(employee.email_address)}


def _explain_invitation(form: Any, employee: Employee) -> None:
    """Say at the invitation to which address it goes, or where an address has to be entered."""
    if employee.email_address:
        text = gettext(
            "It goes to %(email)s, the e-mail address on the employee's page, and has a link for choosing a password."
            " “Forgotten your password?” sends another link."
        )
    else:
        text = gettext(
            "The employee's page has no e-mail address yet. Enter it there first, under “Edit”. Without an address the "
            "person does not get a link for choosing a password, or any reminders."
        )
    form.fields["invites"].help_text = text % {"email": employee.email_address}


def _give(model_admin: object, request: HttpRequest, employee: Employee, reason: str, data: dict[str, Any]) -> None:
    if data["role"] and not access.may(request.user, employee.site_id, MAY_GIVE_ROLES):
        raise ValidationError({"role": gettext("Only people who administer the site's roles can give roles.")})
    if data["invites"] and not employee.email_address:
        text = gettext("The employee's page has no e-mail address to send it to.")
        raise ValidationError({"invites": text})
    with recording():
        user = actions.give_account(
            employee.site_id,
            employee.pk,
            data["user_name"],
            role=DefaultRole(data["role"]) if data["role"] else None,
            author=author_of(request),
            reason=reason,
        )
        if data["invites"]:
            invite.enqueue(str(user.pk))


GIVE_ACCOUNT = RecordStep(
    "give-account",
    _("Give an account"),
    "accounts.add_user",
    _give,
    applies=lambda employee: employee.user_id is None and not employee.is_archived,
    form=AccountForm,
    explanation=_("The person can sign in to the back-office, sign documents and have keys, as roles allow."),
    done=_("%(record)s has an account now."),
    initial=_initial,
    fill=_explain_invitation,
)
ERASE = RecordStep(
    "erase-private-facts",
    _("Erase private facts"),
    "employees.erase_private_employee",
    by_key(erase_private_facts),
    applies=lambda employee: employee.is_archived,
    fault_of=fault_of_erasing,
    form=EraseForm,
    explanation=_(
        "Date of birth, address, phone numbers, nationality and notes are replaced by codes or emptied on this page, "
        "in the whole history and on the account. Nobody can undo this. Name, job, training and signatures stay. The "
        "other texts of this page are not searched."
    ),
    done=_("The private data of %(record)s was erased."),
    consequences=before_erasing,
    search=who_else_names(PERSONAL, IDENTIFYING),
)
