"""The form and the notices before personal data is erased from a record."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.core.signing import BadSignature, Signer
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.backoffice.about import link_to
from records.backoffice.current import user_of
from records.backoffice.fields import TextField
from records.backoffice.forms import ReasonForm
from records.backoffice.transitions import Listing, SearchFunction, SearchPart, UnknownPlaceError
from records.backoffice.wording import field_label
from records.history.erasure import Personal
from records.retention.actions import kept_until
from records.retention.around import attachments_that_say
from records.retention.erasing import texts_that_name_it, words_in_history
from records.retention.mentions import Mentions, Place, Search
from records.retention.words import Words
from records.sites.models import SiteRecord
from records.sites.text import REASON

MOST_SHOWN = 50
"""How many other records the page of an erasure lists."""


class EraseForm(ReasonForm):
    """Why personal data is erased; the reason stays, so it must not say who the person is."""

    change_reason = TextField(
        label=_("Reason for erasing"),
        max_length=REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Kept in the record's history, so do not name the person. For example: “Asked by letter”."),
    )


class EraseWithTextsForm(EraseForm):
    """The form that also asks whether to erase other texts of the record that contain data of the person."""

    with_texts = forms.TypedChoiceField(
        required=False,
        choices=(
            ("yes", _("Erase these texts completely, here and in the history")),
            ("no", _("Leave them: they cannot be found by these values later")),
        ),
        coerce=lambda value: value == "yes",
        widget=forms.RadioSelect,
        help_text=_("Afterwards, write again what is still needed, without the name."),
    )


def asking_about_texts(personal: Personal) -> Callable[[Any, Any], None]:
    """Return a function that makes a form ask about the free texts that contain a personal value; four queries."""

    def fill(form: Any, record: SiteRecord) -> None:
        field = form.fields["with_texts"]
        labels = [field_label(type(record), name) for name in texts_that_name_it(record, personal)]
        attachments = attachments_that_say(record, Words(words_in_history(record, personal)))
        labels += [gettext("name and description of the attachment “%(name)s”") % {"name": row} for row in attachments]
        if not labels:
            field.widget = forms.HiddenInput()
            return
        field.required = True
        text = gettext("Other texts that contain these values: %(fields)s")
        field.label = text % {"fields": ", ".join(labels)}

    return fill


def before_erasing(model_admin: object, request: HttpRequest, record: SiteRecord) -> list[str]:
    """Return what the person who erases must know: the record's period of retention, and what else is erased."""
    notices = []
    if until := kept_until(record):
        notices.append(
            gettext("The %(name)s is kept at least until %(until)s. It stays; only personal data is erased.")
            % {"name": record._meta.verbose_name, "until": until.isoformat()}
        )
    notices.append(
        gettext("The person's details are also erased from saved filters and from the names of imported files.")
    )
    return notices


def who_else_names(personal: Personal, identifying_columns: Sequence[str]) -> SearchFunction:
    """Return a function that lists the other records that identify the person, as far as the user sees them.

    The `identifying_columns` are those of `Search`. Each call searches one part. The place where the next one begins is
    signed, so that all parts search for the same values with the same rights, and the last one knows that none was left
    out.
    """

    def search_next(model_admin: Any, request: HttpRequest, record: Any, place: str) -> SearchPart:
        def visible_rows(model: type[SiteRecord]) -> tuple[QuerySet[Any], Collection[str]] | None:
            rows = model_admin.visible_rows(request, model, record.site_id)
            pages: Any = admin.site._registry.get(model)
            return None if rows is None else (rows, pages.hidden_fields(request, record))

        search = Search(record, personal, identifying_columns, visible_rows)
        if search.is_empty:
            return SearchPart(
                None, [gettext("The record contains none of the values, so no other record was searched.")]
            )
        rights = [(kind._meta.label, *hidden_fields) for kind, _, hidden_fields in search.kinds]
        signer = Signer(salt=f"{__name__} {user_of(request).pk} {record.pk} {record.newest_change} {rights}")
        count_before, was_cut, begin = _read(signer, place) if place else (0, False, Place())
        part = search.step(begin)
        count, is_cut, next_place = count_before + len(part.mentions), was_cut or part.is_incomplete, part.next_place
        if next_place is None:
            sentences = [
                *_summary(search, is_cut, has_found=count > 0),
                _explanation(record, personal, identifying_columns),
            ]
            return SearchPart(_listing(part, count_before), sentences, has_former=count_before > 0)
        text = gettext("%(done)s of %(all)s kinds of records have been searched. Next: %(kinds)s.")
        text %= {
            "done": next_place.kind,
            "all": len(search.kinds),
            "kinds": search.kinds[next_place.kind][0]._meta.verbose_name_plural,
        }
        return SearchPart(_listing(part, count_before), [text], _place_parameter(signer, count, is_cut, next_place))

    return search_next


def _listing(part: Mentions, count_before: int) -> Listing | None:
    """Return the links to what a part found, after so many (`count_before`) others; None without a link."""
    links: list[str] = [
        format_html("{} ({})", link_to(mention.record), ", ".join(mention.labels)) for mention in part.mentions
    ]
    lines = links[: max(MOST_SHOWN - count_before, 0)]
    if count_before <= MOST_SHOWN < count_before + len(links):
        lines.append(gettext("and others"))
    text = gettext(
        "These other records contain one of the values. They stay as they are, except attachments that the form asks "
        "about. Look at them first: after the erasure, they cannot be found by that value."
    )
    return Listing(text, lines) if lines else None


def _summary(search: Search, is_cut: bool, *, has_found: bool) -> Iterator[str]:
    """Yield what the whole search has found, after its last part."""
    if not has_found:
        yield gettext("No other record that you may see was found to contain one of the values.")
    if is_cut:
        yield gettext("Many records may contain one of the values, and not all were looked at. Use the search as well.")
    else:
        yield gettext("All %(all)s kinds of records that you may see have been searched.") % {"all": len(search.kinds)}


def _explanation(record: SiteRecord, personal: Personal, identifying_columns: Sequence[str]) -> str:
    """Return which values other records are searched for, and where they are not."""
    owner = personal.relation and record._meta.get_field(personal.relation).related_model
    labels = ", ".join(field_label(owner or type(record), name) for name in identifying_columns)
    text = gettext(
        "Other records are searched for these values, phone numbers in any spelling, all others as they are "
        "spelled here: %(fields)s. Attached files and the history of other records are not searched."
    )
    return text % {"fields": labels}


def _place_parameter(signer: Signer, count: int, is_cut: bool, place: Place) -> str:
    """Return the parameter of an address for where the next part begins, and what was found so far."""
    after = str(place.after) if isinstance(place.after, UUID) else place.after
    return signer.sign_object([count, is_cut, place.kind, after, place.reads])


def _read(signer: Signer, text: str) -> tuple[int, bool, Place]:
    """Return what `_place_parameter` wrote; raises UnknownPlaceError for any other text."""
    try:
        count, is_cut, kind, after, reads = signer.unsign_object(text)
    except BadSignature as error:
        raise UnknownPlaceError from error
    return count, is_cut, Place(kind, UUID(after) if isinstance(after, str) else after, reads)
