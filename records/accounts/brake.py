"""The brake on mass removal: it stops a directory that removes the access of many people within an hour.

A directory that is configured wrongly, or that an attacker took over, could lock out a whole company. Beyond the limit
its removals are refused until a Site Administrator confirms them (DECISIONS 9.6, 13.10).
"""

import datetime
import uuid
from collections.abc import Collection, Sequence

from django.conf import settings
from django.db.models import Q

from records.accounts.authority import NotAllowedError
from records.accounts.directory_mails import notify_administrators
from records.accounts.models import Directory, DirectoryRemoval, SecurityKind, User
from records.accounts.security import security_event
from records.history.sets import ids, ids_selection, insertion
from records.history.statements import Rows, Statement, parameter, together, vendor
from records.history.trail import Author, Channel, now, recording
from records.sites.writing import changing, locking

BRAKE = Author(None, "Brake on mass removal", Channel.SYSTEM)
WINDOW = datetime.timedelta(hours=1)
SINGLE_SWITCH_OFFS = 10
"""How many people per hour a stopped directory can still switch off, one at a time: access must be able to end."""


class MassRemovalError(NotAllowedError):
    """Raised if the brake refuses a removal; after the rollback the caller calls `close`, which stops the directory."""

    def __init__(self, directory: Directory) -> None:
        super().__init__(
            "The brake on mass removal has stopped this directory: within an hour it would remove the access of more "
            "people than its limit allows. A Site Administrator can confirm the removals on the directory's "
            "connection page."
        )
        self.directory_id = directory.pk


def asking_brake(directory: Directory, people: Collection[uuid.UUID]) -> list[Statement]:
    """Return the two statements with which `counting_removals` begins, of which the first locks the directory's row.

    They run after people and roles are locked: a writer that holds this lock must not wait for the others.
    """
    id_sql, parameters = ids_selection(people)
    sql = _COUNT_REMOVALS.format(ids=id_sql, ago=_AN_HOUR_AGO[vendor()])
    return [locking(Directory).by(directory.pk), (sql, [parameter(directory.pk), *parameters])]


def counting_removals(
    people: Collection[uuid.UUID], answers: Sequence[Rows], *, switches_off: bool = False
) -> list[Statement]:
    """Count people whom a directory is about to switch off, delete or remove from roles.

    Returns the statement that stores them. `answers` are the rows of `asking_brake` about the same people, from this
    transaction. Raises MassRemovalError if these people exceed the limit, unless one account is switched off and at
    most ten were switched off within the hour since the stop. A person who is removed twice within the hour counts
    once.
    """
    start_of_window = now() - WINDOW
    rows, [(removal_count,)] = answers
    [locked_directory] = locking(Directory).objects(rows)
    is_stopped = locked_directory.stopped is not None
    if not is_stopped and _is_beyond(locked_directory, removal_count, start_of_window, people):
        is_stopped = True
        if switches_off and len(people) == 1:
            # The request that exceeds the limit still ends one person's access; the stop is stored together with it.
            locked_directory = _stop(locked_directory)
    if is_stopped:
        if not switches_off or len(people) != 1:
            raise MassRemovalError(locked_directory)
        start = max(start_of_window, locked_directory.stopped) if locked_directory.stopped else start_of_window
        if DirectoryRemoval.objects.filter(directory=locked_directory, at__gte=start).count() >= SINGLE_SWITCH_OFFS:
            raise MassRemovalError(locked_directory)
    common_values = {"directory": locked_directory.pk, "at": now()}
    return [insertion(DirectoryRemoval, common_values, ("user_id",), [(key,) for key in people])]


def count_removal(directory: Directory, person: uuid.UUID, *, switches_off: bool = False) -> None:
    """Count a locked person whom the directory is about to switch off or delete, and store that at once."""
    answers = together(asking_brake(directory, [person]))
    together(counting_removals([person], answers, switches_off=switches_off))


_AN_HOUR_AGO = {
    "postgresql": "statement_timestamp() - interval '1 hour'",
    "sqlite": "strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '-1 hour')",
}
"""The beginning of WINDOW by the clock of the database."""
_COUNT_REMOVALS = """
SELECT COUNT(DISTINCT r.user_id)
  FROM accounts_directoryremoval r JOIN accounts_directory d ON d.id = r.directory_id
 WHERE d.id = %s AND r.at > {ago} AND (d.confirmed IS NULL OR r.at > d.confirmed) AND r.user_id NOT IN ({ids})
"""
"""How many others the directory has removed within the hour and since it was confirmed. It runs after the lock of the
directory's row, and so sees what all earlier writers have stored."""


def _is_beyond(
    directory: Directory, removal_count: int, start_of_window: datetime.datetime, people: Collection[uuid.UUID]
) -> bool:
    """Return whether the number of people exceeds the limit: a number, or a share of the people an hour ago.

    `removal_count` others were removed since then, or since the directory was confirmed.
    """
    total = removal_count + len(people)
    if total <= settings.DIRECTORY_BRAKE_PEOPLE:
        return False
    start = max(start_of_window, directory.confirmed) if directory.confirmed else start_of_window
    earlier = DirectoryRemoval.objects.filter(directory=directory, at__gt=start).values("user_id")
    was_present = Q(is_active=True) | Q(pk__in=earlier) | Q(pk__in=ids(people))
    people_count = User.objects.filter(was_present, directory=directory).count()
    return total * 100 > people_count * settings.DIRECTORY_BRAKE_PERCENT


def close(directory_id: uuid.UUID) -> None:
    """Stop a directory whose request the brake refused; repeating it changes nothing. Opens its own transaction."""
    with recording():
        locked_directory = Directory.objects.select_for_update(of=("self",), no_key=True).get(pk=directory_id)
        if locked_directory.stopped is None:
            _stop(locked_directory)


def _stop(directory: Directory) -> Directory:
    """Record that a locked directory was stopped, mail the Site Administrators, and return its row."""
    site_id = directory.home_site_id
    with changing(Directory, None, directory.pk, author=BRAKE, operation="StopDirectory") as locked_directory:
        locked_directory.stopped = now()
    security_event(
        SecurityKind.DIRECTORY_STOPPED,
        account=locked_directory.service_account,
        author=BRAKE,
        detail=locked_directory.name,
        site_id=site_id,
    )
    notify_administrators(locked_directory, SecurityKind.DIRECTORY_STOPPED)
    return locked_directory


def confirm(directory: Directory, *, author: Author, reason: str = "") -> None:
    """Let a stopped directory continue; its removals until now do not count any more.

    If it is not stopped, this changes nothing. The caller has checked that the author may change the directory.
    """
    with changing(
        Directory, None, directory.pk, author=author, operation="ConfirmDirectory", reason=reason
    ) as locked_directory:
        if locked_directory.stopped is None:
            return
        locked_directory.stopped, locked_directory.confirmed = None, now()
        security_event(
            SecurityKind.DIRECTORY_CONFIRMED,
            account=locked_directory.service_account,
            author=author,
            detail=locked_directory.name,
            site_id=locked_directory.home_site_id,
        )


def forget_removals_of(directory: Directory, user_id: str) -> None:
    """Forget a person whom the directory removed, as the connection check does for its test user; '' does nothing."""
    if user_id:
        DirectoryRemoval.objects.filter(directory=directory, user_id=user_id).delete()


def forget_old_removals() -> int:
    """Delete rows that the brake does not count any more; returns how many there were."""
    return DirectoryRemoval.objects.filter(at__lt=now() - 2 * WINDOW).delete()[0]
