"""The reason for a change of state (DECISIONS 5)."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from records.sites.text import REASON, is_blank, normalise


def required_reason(reason: str, missing: str = "") -> str:
    """Return the reason as it is stored; raises ValidationError, under `reason`, if it is blank or too long.

    `missing` is the message for a blank one, if it is another than usual.
    """
    try:
        text = normalise(reason).strip()
        if is_blank(text):
            raise ValidationError(missing or gettext("Say why."), code="RequiredField")
        if len(text) > REASON:
            raise ValidationError(
                gettext("At most %(reason)s characters are allowed.") % {"reason": REASON}, code="ValueTooLong"
            )
    except ValidationError as fault:
        raise ValidationError({"reason": fault}) from fault
    return text
