"""Recent calls of keys: storing the newest of each for a week, and reading them."""

import datetime
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence

from django.db import models, transaction

from records.accounts.models import KeyCall
from records.history.trail import now

NEWEST = 100
"""How many calls of a key are shown. A few more can be stored, since a key is not pruned at every write."""
RETENTION = datetime.timedelta(days=7)
PRUNE_AFTER = 50
SWEEP_EVERY = datetime.timedelta(hours=1)


class CallKeeper:
    """Writes calls in one statement, and regularly deletes excess and old calls. Each process needs one."""

    def __init__(self) -> None:
        self._since_pruned: Counter[uuid.UUID] = Counter()
        self._swept: datetime.datetime | None = None

    def keep(self, calls: Sequence[KeyCall]) -> None:
        """Insert the calls in one transaction and prune their keys if it is time to; raises DatabaseError."""
        moment = now()
        call_counts = Counter(call.key_id for call in calls)
        with transaction.atomic():
            KeyCall.objects.bulk_create(calls, batch_size=500)
            # Prune in the order of the ids, so that two processes that prune the same keys do not deadlock.
            due = sorted(key for key in call_counts if self._is_due(key, call_counts[key]))
            for key in due:
                prune(key)
            if self._swept is None or moment - self._swept >= SWEEP_EVERY:
                KeyCall.objects.filter(at__lt=moment - RETENTION).delete()
        if self._swept is None or moment - self._swept >= SWEEP_EVERY:
            self._swept = moment
        self._since_pruned.update(call_counts)
        for key in due:
            self._since_pruned[key] = 0

    def _is_due(self, key: uuid.UUID, new_calls: int) -> bool:
        return key not in self._since_pruned or self._since_pruned[key] + new_calls >= PRUNE_AFTER


def prune(key_id: uuid.UUID) -> None:
    """Delete all calls of a key except the newest."""
    of_key = KeyCall.objects.filter(key_id=key_id)
    newest_dropped = of_key.order_by("-id").values_list("id", flat=True)[NEWEST : NEWEST + 1].first()
    if newest_dropped is not None:
        of_key.filter(id__lte=newest_dropped).delete()


def recent_calls(key_ids: Iterable[uuid.UUID], newest: int = NEWEST) -> models.QuerySet[KeyCall]:
    """Return the newest calls of the keys within the last week, newest first."""
    return KeyCall.objects.filter(key_id__in=key_ids, at__gte=now() - RETENTION).select_related("key")[:newest]
