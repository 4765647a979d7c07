"""The choice of a person how often they want to be reminded."""

from records.accounts.models import User
from records.history.snapshots import columns, differences
from records.history.trail import Author, recording
from records.reminders.models import Frequency, Preference


def choose_frequency(user: User, frequency: Frequency, *, author: Author) -> Preference:
    """Store how often the person wants to be reminded; choosing the same again changes nothing."""
    # Not by the common writer: `get_or_create` makes one row of two first choices at the same moment.
    with recording() as trail:
        preference, is_new = Preference.objects.select_for_update(no_key=True).get_or_create(user=user)
        before = {} if is_new else columns(preference)
        if is_new or preference.frequency != frequency:
            preference.frequency = frequency
            preference.save(update_fields=["frequency"])
            entries = differences(preference, before, columns(preference))
            trail.add(preference, entries, author=author, operation="ChooseReminders")
    return preference
