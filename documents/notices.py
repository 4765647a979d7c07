"""Decides who gets a mail about a version.

Notices are stored and queued in the transaction that causes them; `documents.tasks` sends them afterwards.
"""

import uuid
from collections.abc import Collection, Iterable, Sequence

from documents import reading
from documents.models import IN_FORCE, Document, DocumentVersion, Duty, Notice, Signer, Status
from documents.rejections import people_to_notify
from documents.tasks import NOT_OWED, send_notices
from records.accounts.models import User
from records.accounts.roles_held import people_of
from records.history.inserts import insertions
from records.history.trail import now, store

KINDS = {
    Status.AWAITING_REVIEW: Notice.Kind.REVIEW,
    Status.AWAITING_APPROVAL: Notice.Kind.APPROVE,
    Status.APPROVED: Notice.Kind.IN_FORCE,
    Status.ISSUED: Notice.Kind.IN_FORCE,
    Status.AWAITING_CHANGE: Notice.Kind.REJECTED,
}


def notify(version: DocumentVersion) -> None:
    """Store a mail to each person who must sign the version next, must change it, or is to know that it is in force."""
    kind = KINDS.get(Status(version.record_status))
    if kind is Notice.Kind.IN_FORCE:
        queue_notices(version, kind, version.document.user_to_notify.values_list("pk", flat=True))
        notify_readers(version.document)
    elif kind is Notice.Kind.REJECTED:
        queue_notices(version, kind, people_to_notify(version))
    elif kind is not None:
        duty = Duty.REVIEW if kind is Notice.Kind.REVIEW else Duty.APPROVE
        missing_signers = Signer.objects.filter(version=version, duty=duty, signature__isnull=True)
        queue_notices(version, kind, missing_signers.values_list("user_id", flat=True))


def notify_first(
    version: DocumentVersion,
    signers: Iterable[Signer],
    recipients: Iterable[User],
    must_read: Collection[uuid.UUID],
) -> None:
    """Store the mails of `notify` for a new version, which nobody was asked about before.

    `recipients` are the users to notify, and `must_read` the roles whose members must read the version.
    """
    kind = KINDS[Status(version.record_status)]
    if kind is Notice.Kind.IN_FORCE:
        users = {user.pk: user for user in recipients}
    else:
        users = {signer.user_id: signer.user for signer in signers if signer.duty == kind}
    keys = [key for key, user in users.items() if user.is_active and user.email]
    _queue([Notice(version=version, user_id=key, kind=kind) for key in keys])
    if must_read and kind is Notice.Kind.IN_FORCE:
        queue_notices(version, Notice.Kind.READ, set().union(*people_of(must_read).values()))


def notify_readers(document: Document) -> None:
    """Store a mail to each person who must read the version in force, has not read it and was not asked by mail yet."""
    version = document.versions.filter(record_status__in=IN_FORCE).first()
    if version is None:
        return
    earlier = Notice.objects.filter(version=version, kind=Notice.Kind.READ).values_list("user_id", flat=True)
    have_read = version.readings.values_list("user_id", flat=True)
    queue_notices(version, Notice.Kind.READ, reading.readers_of([document.pk])[document.pk] - {*earlier, *have_read})


def queue_notices(version: DocumentVersion, kind: Notice.Kind, users: Iterable[uuid.UUID]) -> None:
    """Store a mail to each active account that has an address, and queue the sending.

    A person who was asked before and then replaced gets a new mail, because the earlier one may never have been sent.
    """
    keys = list(users)
    reachable = User.objects.filter(pk__in=keys, is_active=True).exclude(email="").values_list("pk", flat=True)
    Notice.objects.filter(version=version, kind=kind, user_id__in=keys).delete()
    _queue([Notice(version=version, user_id=user, kind=kind) for user in reachable])


def _queue(notices: Sequence[Notice]) -> None:
    if notices:
        store(insertions(notices))
        send_notices.enqueue()


def requeue_notices(document: Document) -> None:
    """Check again the mails of a restored document that were dropped as no longer needed, and send those that are."""
    moment = now()
    notices = Notice.objects.filter(version__document=document, last_error=NOT_OWED)
    if notices.update(sent=None, due=moment, created=moment, attempts=0, last_error=""):
        send_notices.enqueue()
