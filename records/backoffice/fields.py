"""Form fields for which unchanged values never count as changes: text, days, times, and references within a site."""

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from records.backoffice.datetimes import plain_number, wall_clock
from records.sites.text import read_uuid

ChooseFrom = Callable[[], models.QuerySet[Any]]
"""What a reference may newly refer to, created only if it is needed: most saves keep the present reference."""

NO_TARGETS: Mapping[str, models.Model] = MappingProxyType({})
gettext_noop("Enter a valid email address.")  # Django's; the German of another package would go before Django's.
UNKNOWN_CHOICE = _("Choose one of the entries that are offered.")


def newlines(text: str) -> str:
    r"""Return the text with `\n` line ends: browsers send `\r\n`, which does not count as a change."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


class TextField(forms.CharField):
    """One line or several lines of text."""

    def prepare_value(self, value: Any) -> Any:
        """Return the text as it is shown: where the input has one line, with spaces as line ends."""
        if not isinstance(value, str):
            return value
        text = newlines(value) if "\r" in value else value
        return text.replace("\n", " ") if isinstance(self.widget, forms.TextInput) else text

    def to_python(self, value: Any) -> str:
        """Return the text with the line ends of `newlines`."""
        text = super().to_python(value) or ""
        return newlines(text) if "\r" in text else text

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return whether the text differs from what was shown in more than its line ends."""
        before, after = str(initial or ""), str(data or "")
        return before != after and bool(self.prepare_value(before) != self.prepare_value(after))


def to_utc(clock: datetime.datetime) -> datetime.datetime:
    """Return, in UTC, the moment of a local time at the site; raises ValidationError if there is no such time.

    In the hour that is repeated in autumn, the first occurrence is meant; a time in the hour that is skipped in spring
    is refused.
    """
    local = clock.replace(tzinfo=timezone.get_current_timezone())
    try:
        utc = local.astimezone(datetime.UTC)
        local_again = utc.astimezone(local.tzinfo)
    except (OverflowError, ValueError):
        raise ValidationError(gettext("This date is outside the years 0001 to 9999."), code="InvalidDate") from None
    if local_again.replace(tzinfo=None) != clock:
        raise ValidationError(
            gettext("The clocks go forward over this time, so it does not exist."), code="InvalidDate"
        )
    return utc


class AddressInput(forms.TextInput):
    """An e-mail address. The browser's own input sends a domain such as bücher.de as xn--bcher-kva.de, unasked."""

    def __init__(self, attrs: dict[str, str] | None = None) -> None:
        super().__init__({"inputmode": "email", "autocapitalize": "none", "spellcheck": "false", **(attrs or {})})


class DayInput(forms.TextInput):
    """The browser's own date picker."""

    input_type = "date"


class MomentInput(forms.TextInput):
    """The browser's own picker of date and time."""

    input_type = "datetime-local"


class NumberField(forms.DecimalField):
    """A decimal number, shown without trailing zeros."""

    def prepare_value(self, value: object) -> Any:
        """Return the number without trailing zeros."""
        return plain_number(value) if isinstance(value, Decimal) and value.is_finite() else value


class DayField(forms.Field):
    """A day, stored as midnight UTC; it is the same day in every time zone."""

    widget = DayInput

    def prepare_value(self, value: object) -> Any:
        """Return the day in the format of the browser's input."""
        if isinstance(value, datetime.datetime):
            return value.astimezone(datetime.UTC).date().isoformat()
        return value

    def to_python(self, value: Any) -> datetime.datetime | None:
        """Return midnight UTC of the day; raises ValidationError."""
        if value in self.empty_values:
            return None
        if isinstance(value, datetime.datetime):
            return value
        try:
            day = datetime.date.fromisoformat(str(value).strip())
        except ValueError:
            raise ValidationError(gettext("Enter a date as year-month-day."), code="InvalidDate") from None
        return datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC)

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return whether another day was entered; a stored time of day is ignored."""
        return (self.prepare_value(initial) or "") != str(data or "").strip()


class MomentField(forms.Field):
    """A date and time, shown and entered in the site's time zone."""

    widget = MomentInput

    def prepare_value(self, value: object) -> Any:
        """Return the local time in the format of the browser's input."""
        if isinstance(value, datetime.datetime):
            clock = wall_clock(value)[0]
            return clock.isoformat(timespec="seconds" if clock.second else "minutes")
        return value

    def _clock(self, value: object) -> datetime.datetime | None:
        if value in self.empty_values:
            return None
        try:
            clock = datetime.datetime.fromisoformat(str(value).strip())
        except ValueError:
            raise ValidationError(gettext("Enter a date and time."), code="InvalidDate") from None
        return clock.replace(tzinfo=None)

    def to_python(self, value: Any) -> datetime.datetime | None:
        """Return the moment in UTC; raises ValidationError."""
        if isinstance(value, datetime.datetime):
            return value
        clock = self._clock(value)
        return None if clock is None else to_utc(clock)

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return whether another time was entered than the one shown; fractions of a second are ignored."""
        try:
            return self._clock(self.prepare_value(initial)) != self._clock(data)
        except ValidationError:
            return True


class Chooser(forms.Select):
    """A choice among very many: contains only the chosen entry; the page's script searches others at `data-choose`.

    `reference_field` of records.backoffice.formfields makes it together with its field.
    """

    address: Callable[[], str]
    choose_from: ChooseFrom
    current_targets = NO_TARGETS

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        """Return the context with the URL at which the page's script searches for choices."""
        return super().get_context(name, value, {"data-choose": self.address(), **(attrs or {})})

    def optgroups(self, name: str, value: Sequence[object], attrs: Any = None) -> Any:
        """Return the chosen entries as the only options, after an empty one if the field is optional."""
        keys = [str(key) for key in value if key]
        missing_keys = [key for key in keys if key not in self.current_targets]
        targets = {
            **self.current_targets,
            **({str(row.pk): row for row in self._look_up(missing_keys)} if missing_keys else {}),
        }
        choices: list[tuple[object, object]] = [] if self.allow_multiple_selected else [("", "")]
        choices += [(key, str(targets[key])) for key in keys if key in targets]
        self.choices = choices
        return super().optgroups(name, keys, attrs)

    def _look_up(self, keys: Iterable[str]) -> Iterable[models.Model]:
        ids = [key for key in map(read_uuid, keys) if key is not None]
        return self.choose_from().filter(pk__in=ids) if ids else ()


class ChooserMultiple(Chooser, forms.SelectMultiple):
    """A choice of several among very many."""


def as_number(text: object, digits: int = 9) -> int | None:
    """Return the whole number that is written in plain digits; None for anything else and for too many digits."""
    text = str(text)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


class ReferenceField(forms.Field):
    """One record or list entry of the record's site; the present reference stays valid."""

    widget = Chooser
    choose_from: ChooseFrom
    current_targets = NO_TARGETS

    def set_current(self, targets: Iterable[models.Model]) -> None:
        """Remember the present reference, which then needs no query and stays valid when its target is archived."""
        self.current_targets = self.widget.current_targets = {str(target.pk): target for target in targets}

    def prepare_value(self, value: object) -> Any:
        """Return the id as text."""
        return str(value.pk) if isinstance(value, models.Model) else "" if value is None else str(value)

    def _targets(self, keys: Sequence[object]) -> list[models.Model]:
        ids = [read_uuid(key) for key in keys]
        missing_keys = [key for key in ids if key is not None and str(key) not in self.current_targets]
        targets = {
            **self.current_targets,
            **({str(row.pk): row for row in self.choose_from().filter(pk__in=missing_keys)} if missing_keys else {}),
        }
        if any(str(key) not in targets for key in ids):
            raise ValidationError(UNKNOWN_CHOICE, code="InvalidReference")
        return [targets[str(key)] for key in ids]

    def to_python(self, value: Any) -> Any:
        """Return the record, or None; raises ValidationError for one that the site does not have."""
        if value in self.empty_values:
            return None
        if isinstance(value, models.Model):
            return value
        current = self.current_targets.get(str(value).lower())
        return current if current is not None else self._targets([value])[0]

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return whether another record was chosen."""
        before = initial.pk if isinstance(initial, models.Model) else initial
        return str(before or "") != str(data or "").lower()


class ReferencesField(ReferenceField):
    """Several records of the record's site, in the order in which they were chosen."""

    widget = ChooserMultiple

    def prepare_value(self, value: Any) -> Any:
        """Return the ids as text."""
        return [super(ReferencesField, self).prepare_value(entry) for entry in value or ()]

    def to_python(self, value: Any) -> Any:
        """Return the records; raises ValidationError for one that the site does not have."""
        return self._targets(list(dict.fromkeys(value or ())))

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return whether another set was chosen."""
        return set(self.prepare_value(initial)) != {str(key).lower() for key in data or ()}
