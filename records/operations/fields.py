"""The kinds of wire field: each reads one JSON value strictly and defines how the stored value is shown."""

import datetime
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import models
from rest_framework import serializers

from records.operations import values
from records.sites.text import FREE_TEXT, NAME, normalise, read_uuid

T = TypeVar("T")


class WireError(Exception):
    """The fault of one value: code and message, and the path inside the value if it is composite."""

    def __init__(self, code: str, message: str, path: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.path = code, message, path


class CompositeError(Exception):
    """Several faults of one composite value."""

    def __init__(self, faults: Sequence[WireError]) -> None:
        super().__init__(f"{len(faults)} faults")
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Reference:
    """An id that the body refers to; `resolve_all` in records.operations.references replaces it by the record."""

    id: uuid.UUID
    model: type[models.Model]


Show = Callable[[Any], Any] | None


MOST_ROWS, MOST_IDS = 1_000, 10_000
"""The maximum number of entries of an array: as many as one transaction can check and write."""


def entries_of(value: object, max_count: int, kind: str) -> list[Any]:
    """Return the entries of an array; raises WireError if it is not an array or has too many entries."""
    if not isinstance(value, list):
        raise WireError("InvalidValue", f"This must be an array of {kind}.")
    if len(value) > max_count:
        raise WireError("ValueTooLong", f"At most {max_count} entries are allowed; this has {len(value)}.")
    return value


class WireField:
    """What all wire fields share: `empty` is stored for null, `read` turns JSON into the stored value.

    `source_name` is the model's name of the field if it is not the snake-case form of the wire name.
    """

    empty: Any = None
    show: Show = None
    read_only: bool
    required: bool
    nullable: ClassVar[bool] = False
    """Whether the schema allows null in a field that is not required."""

    def __init__(self, *args: object, source_name: str = "", **kwargs: object) -> None:
        self.source_name = source_name
        if self.nullable:
            kwargs.setdefault("allow_null", not kwargs.get("required", False))
        super().__init__(*args, **kwargs)

    @property
    def clears(self: Any) -> tuple[object, ...]:
        """Return the values, besides those of its kind, by which a body can clear the field (DECISIONS 1.5)."""
        return (None,) if self.allow_null else ()

    def read(self, value: object) -> Any:
        """Return the value to store; raises WireError."""
        raise NotImplementedError


class ArrayField(WireField):
    """An array, which a body also clears with null."""

    @property
    def empty(self) -> list[Any]:
        """Return a new empty list."""
        return []

    @property
    def clears(self) -> tuple[object, ...]:
        """Return null unless the field is required."""
        return () if self.required else (None,)


class TextField(WireField, serializers.CharField):
    r"""Text: NFC, `\n` line ends, no control characters, capped."""

    empty = ""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", FREE_TEXT)
        kwargs.setdefault("allow_blank", not kwargs.get("required", False))
        super().__init__(**kwargs)

    @property
    def clears(self) -> tuple[object, ...]:
        """Return null if the text may be empty and absent."""
        return (None,) if self.allow_blank and not self.required else ()

    def read(self, value: object) -> str:
        """Return the normalised text; raises WireError."""
        if not isinstance(value, str):
            raise WireError("InvalidValue", "This must be a string.")
        try:
            text = normalise(value)
        except ValidationError as error:
            raise WireError("InvalidValue", error.messages[0]) from error
        if self.max_length is not None and len(text) > self.max_length:
            raise WireError("ValueTooLong", f"At most {self.max_length} characters are allowed; this has {len(text)}.")
        return text


class OnDemandField(TextField):
    """Text of any length that is empty in the response unless the caller asks for it; the view then fills it in."""

    def __init__(self, **kwargs: object) -> None:
        super().__init__(max_length=None, **kwargs)


class EmailAddressField(TextField, serializers.EmailField):
    """A well-formed e-mail address, or an empty text."""

    def read(self, value: object) -> str:
        """Return the address; raises WireError."""
        text = super().read(value)
        if text:
            try:
                validate_email(text)
            except ValidationError as error:
                raise WireError("InvalidValue", "This is not a well-formed e-mail address.") from error
        return text


class ChoiceTextField(WireField, serializers.ChoiceField):
    """One of a few words, accepted in any case and shown as defined."""

    empty = ""

    def read(self, value: object) -> str:
        """Return the word as it is defined in the list; raises WireError."""
        if not isinstance(value, str):
            raise WireError("InvalidValue", "This must be a string.")
        if value == "" and self.allow_blank:
            return ""
        word = self._words.get(value.casefold())
        if word is None:
            raise WireError("InvalidValue", f"Allowed are: {', '.join(self._words.values())}.")
        return word

    @cached_property
    def _words(self) -> dict[str, str]:
        """Return the words as they are defined in the list, by their folded forms."""
        return {str(word).casefold(): str(word) for word in self.choices}


class IdField(WireField, serializers.UUIDField):
    """The Id of an entry or record, as text of 36 characters."""

    nullable = True

    @property
    def clears(self) -> tuple[object, ...]:
        """Return null and the empty text unless the field is required."""
        return () if self.required else (None, "")

    def read(self, value: object) -> uuid.UUID | None:
        """Return the id; raises WireError."""
        if value == "":
            return None
        key = read_uuid(value)
        if key is None:
            raise WireError("InvalidReference", "This must be an Id: a UUID of 36 characters.")
        return key


class ReferenceField(IdField):
    """The Id of an entry of a reference list, a folder or another record of the site."""

    def __init__(self, *, model: type[models.Model], **kwargs: Any) -> None:
        self.model = model
        super().__init__(**kwargs)

    @property
    def clears(self) -> tuple[object, ...]:
        """Return null and the empty text if the record can do without the reference."""
        return super().clears if self.allow_null else ()

    def read(self, value: object) -> Any:
        """Return the Reference, not resolved yet; raises WireError."""
        key = super().read(value)
        return None if key is None else Reference(key, self.model)


class DateTimeField(WireField, serializers.DateTimeField):
    """A date-time: RFC 3339 with a zone, or a bare date; always shown in UTC with milliseconds."""

    show = staticmethod(values.show_date_time)
    nullable = True

    @property
    def clears(self) -> tuple[object, ...]:
        """Return null and the empty text if the record can do without the date-time."""
        return (None, "") if self.allow_null else ()

    def read(self, value: object) -> datetime.datetime | None:
        """Return the date-time in UTC; raises WireError."""
        if value == "":
            return None
        if not isinstance(value, str):
            raise WireError("InvalidDate", "This must be a string such as 2024-05-31T08:30:00.000Z.")
        try:
            return values.read_date_time(value)
        except ValueError as error:
            raise WireError("InvalidDate", str(error)) from error


class NumberField(WireField, serializers.DecimalField):
    """A decimal that is sent as a JSON number without loss."""

    show = staticmethod(values.show_number)
    nullable = True

    def __init__(self, *, lowest: int | None = None, highest: int | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("max_digits", 15)
        kwargs.setdefault("decimal_places", 4)
        super().__init__(min_value=lowest, max_value=highest, coerce_to_string=False, **kwargs)

    def read(self, value: object) -> Decimal | None:
        """Return the decimal; raises WireError if it does not fit exactly."""
        if value == "":
            return None
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise WireError("InvalidValue", "This must be a number.")
        number = Decimal(value) if not isinstance(value, int) or abs(value) < 10**20 else Decimal("Infinity")
        integer_digits = (self.max_digits or 15) - (self.decimal_places or 0)
        if not number.is_finite() or number.adjusted() >= integer_digits:
            raise WireError("InvalidValue", f"At most {integer_digits} digits before the decimal point are kept.")
        if number != 0 and number.adjusted() < -(self.decimal_places or 0) - 1:
            raise WireError("InvalidValue", f"At most {self.decimal_places} decimal places are kept.")
        exact = number.quantize(Decimal(1).scaleb(-(self.decimal_places or 0)))
        if exact != number:
            raise WireError("InvalidValue", f"At most {self.decimal_places} decimal places are kept.")
        if self.min_value is not None and exact < self.min_value:
            raise WireError("InvalidValue", f"This must not be below {self.min_value}.")
        if self.max_value is not None and exact > self.max_value:
            raise WireError("InvalidValue", f"This must not be above {self.max_value}.")
        return exact + 0


class IntegerField(WireField, serializers.IntegerField):
    """A 32-bit integer within its bounds."""

    nullable = True

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("min_value", 0)
        kwargs.setdefault("max_value", values.INTEGER_LIMIT)
        super().__init__(**kwargs)

    def read(self, value: object) -> int | None:
        """Return the number, which may also be written as 5.0; raises WireError."""
        if value == "":
            return None
        is_whole = isinstance(value, int) or (isinstance(value, Decimal) and value == value.to_integral_value())
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or not is_whole:
            raise WireError("InvalidValue", "This must be a whole number.")
        lowest, highest = self.min_value or 0, self.max_value or values.INTEGER_LIMIT
        if not lowest <= value <= highest:
            raise WireError("InvalidValue", f"This must be between {lowest} and {highest}.")
        return int(value)


class BooleanField(WireField, serializers.BooleanField):
    """A boolean: true or false."""

    def read(self, value: object) -> bool:
        """Return the boolean; raises WireError."""
        if not isinstance(value, bool):
            raise WireError("InvalidValue", "This must be true or false.")
        return value


class TextListField(ArrayField, serializers.ListField):
    """An array of short texts."""

    def __init__(self, **kwargs: Any) -> None:
        self.entry = TextField(max_length=NAME)
        super().__init__(child=self.entry, **kwargs)

    def read(self, value: object) -> list[str]:
        """Return the texts; raises WireError or CompositeError."""
        entries = entries_of(value, MOST_ROWS, "strings")
        return [_at(index, self.entry.read, entry) for index, entry in enumerate(entries)]


def _at(index: int, read: Callable[[object], T], value: object) -> T:
    try:
        return read(value)
    except WireError as fault:
        raise WireError(fault.code, fault.message, f"[{index}]{fault.path}") from fault
