"""The sentence on an account's page about what the person still has to do, also before their access is ended."""

from collections.abc import Sequence

from django.http import HttpRequest
from django.utils.translation import gettext

from records.accounts.models import User
from records.backoffice.current import user_of
from records.backoffice.extension_points import RecordNotice
from records.history.statements import count_together
from records.reminders.sources import Source, sources


def record_notices(request: HttpRequest, record: object) -> Sequence[RecordNotice]:
    """Return how much a person has to do, as far as the user may see it; its rows are counted in one round trip."""
    if not isinstance(record, User):
        return ()
    countable = [
        (source, source.words) for source in sources() if isinstance(source, Source) and source.words is not None
    ]
    numbers = count_together(*(source.rows_for(record, user_of(request)).order_by() for source, _ in countable))
    words = [
        sentence(number) % {"number": number}
        for (_, sentence), number in zip(countable, numbers, strict=True)
        if number
    ]
    if not words:
        return ()
    text = (
        gettext("Has to do: %(tasks)s.")
        if record.is_active
        else gettext("Still has to do: %(tasks)s. Nobody does this until somebody else gets it.")
    )
    return (RecordNotice(text % {"tasks": ", ".join(words)}, is_warning=not record.is_active),)
