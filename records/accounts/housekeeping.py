"""What the accounts room drops now and then because it is of no use any more."""

import datetime

from django.db.models import Exists, OuterRef

from records.accounts.models import AccessChange
from records.history.trail import now

MARKS_KEPT = datetime.timedelta(hours=1)
"""Far longer than any process remembers a caller, so that a version which was remembered never comes back."""


def drop_old_access_changes() -> int:
    """Delete old marks of access, all but the newest of each user and site; returns how many there were."""
    newer = AccessChange.objects.filter(owner_id=OuterRef("owner_id"), pk__gt=OuterRef("pk"))
    return AccessChange.objects.filter(Exists(newer), at__lt=now() - MARKS_KEPT).delete()[0]
