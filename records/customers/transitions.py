"""The button on a customer's page that erases the identity of a contact."""

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.backoffice.transitions import RecordStep, by_key
from records.customers.erasure import EVERYBODY, IDENTIFYING, contacts_of, erase_contact
from records.customers.models import Customer
from records.retention.forms import EraseWithTextsForm, asking_about_texts, before_erasing, who_else_names
from records.retention.pages import fault_of_erasing


class EraseContactForm(EraseWithTextsForm):
    """The form that asks which contact is erased, and why."""

    contact = forms.ChoiceField(label=_("Contact"))
    field_order = ("contact", "change_reason")


def _fill(form: Any, customer: Customer) -> None:
    form.fields["contact"].choices = [("", gettext("Choose a contact")), *contacts_of(customer)]
    asking_about_texts(EVERYBODY)(form, customer)


def _warnings(model_admin: object, request: HttpRequest, customer: Customer) -> list[str]:
    nobody = [] if contacts_of(customer) else [gettext("The customer has no contact whose identity could be erased.")]
    return [*before_erasing(model_admin, request, customer), *nobody]


ERASE = RecordStep(
    "erase-contact",
    _("Erase a contact"),
    "customers.erase_contact",
    by_key(erase_contact, "contact", "with_texts"),
    fault_of=fault_of_erasing,
    form=EraseContactForm,
    explanation=_(
        "Name, e-mail and phone of the contact are replaced by codes on this page and in the whole history. Nobody can "
        "undo this. Title and position stay."
    ),
    done=_("The contact was erased from %(record)s."),
    fill=_fill,
    consequences=_warnings,
    search=who_else_names(EVERYBODY, IDENTIFYING),
)
