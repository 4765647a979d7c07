"""Review and approval: who signs a version, what a signature requires, and how the status changes (DECISIONS 5).

Each function is one transaction that locks the document's row. If two signatures, or a signature and a newer file,
arrive together, the second one therefore sees the result of the first.
"""

import datetime
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Required, TypedDict, Unpack

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.utils.translation import gettext

from documents import notices, versions
from documents.models import Document, DocumentVersion, Duty, Meaning, Notice, Signature, Signer, Status
from records.accounts import access
from records.accounts.confirmations import Confirmation
from records.accounts.models import User
from records.files import storage
from records.history.trail import Author, now
from records.sites.reasons import required_reason
from records.sites.targets import errors_of
from records.sites.text import fault_at, is_blank, refuse
from records.sites.writing import RecordNotFoundError, changing

Confirm = Callable[[User, str], Confirmation | None]

TURN = {Duty.REVIEW: Status.AWAITING_REVIEW, Duty.APPROVE: Status.AWAITING_APPROVAL}
DUTY = {status: duty for duty, status in TURN.items()}
SIGN_WITHIN = datetime.timedelta(days=7)
"""How long after a version was uploaded its signatures are due."""


def own_password(user: User, password: str) -> Confirmation | None:
    """Return `Confirmation.PASSWORD` if this is the user's password, else None; pages pass a check of all methods."""
    return Confirmation.PASSWORD if user.check_password(password) else None


class SigningArgs(TypedDict, total=False):
    """The options of a decision: its author, a comment, and the check of who signs (by default by the password)."""

    author: Required[Author]
    comment: str
    confirm: Confirm


def sign_review(version_id: uuid.UUID, user: User, password: str, **options: Unpack[SigningArgs]) -> DocumentVersion:
    """Sign as reviewer.

    After the last review, the version goes to its approvers, or comes into force if it has none. Raises
    RecordNotFoundError, ValidationError (wrong password, not this person's turn, wrong status) or FileDamagedError.
    """
    with _signing(version_id, user, password, Duty.REVIEW, "SignReview", options) as (document, version, sign):
        sign(Meaning.REVIEWED)
        if not _missing_signers(version, Duty.REVIEW).exists():
            approvers = version.signers.filter(duty=Duty.APPROVE).exists()
            versions.set_status(document, version, Status.AWAITING_APPROVAL if approvers else Status.ISSUED)
        else:
            versions.increase_revision(version)
    return version


def approve(version_id: uuid.UUID, user: User, password: str, **options: Unpack[SigningArgs]) -> DocumentVersion:
    """Sign as approver; the last approval brings the version into force and supersedes the previous one.

    Raises the errors of `sign_review`, and ValidationError if the approver uploaded the version.
    """
    with _signing(version_id, user, password, Duty.APPROVE, "Approve", options) as (document, version, sign):
        if version.created_by_id == user.pk:
            text = gettext("The person who uploaded a version cannot approve it.")
            raise ValidationError(text, code="Forbidden")
        sign(Meaning.APPROVED)
        if not _missing_signers(version, Duty.APPROVE).exists():
            versions.set_status(document, version, Status.APPROVED)
        else:
            versions.increase_revision(version)
    return version


def reject(version_id: uuid.UUID, user: User, password: str, **options: Unpack[SigningArgs]) -> DocumentVersion:
    """Reject as the reviewer or approver whose turn it is; one rejection sends the version back for change.

    Raises the errors of `sign_review`, and ValidationError if there is no comment.
    """
    if is_blank(options.get("comment", "")):
        raise fault_at("comment", gettext("Say what has to change: a rejection needs a comment."), "RequiredField")
    with _signing(version_id, user, password, None, "Reject", options) as (document, version, sign):
        sign(Meaning.REJECTED)
        versions.set_status(document, version, Status.AWAITING_CHANGE)
    return version


@contextmanager
def _signing(
    version_id: uuid.UUID, user: User, password: str, duty: Duty | None, operation: str, options: SigningArgs
) -> Iterator[tuple[Document, DocumentVersion, Callable[[Meaning], None]]]:
    """Check the signer's identity and the file, then lock the document and check that it is this person's turn.

    Yields the document, the version, and the function that stores the person's signature.
    """
    unlocked = DocumentVersion.objects.filter(pk=version_id).first()
    if unlocked is None or not access.holds_role_at(user.pk, unlocked.site_id):
        raise RecordNotFoundError
    confirmed_by = options.get("confirm", own_password)(user, password)
    if confirmed_by is None:
        raise fault_at("password", gettext("This is not your password."), "InvalidValue")
    storage.check(unlocked)
    author = options["author"]
    with changing(Document, unlocked.site_id, unlocked.document_id, author=author, operation=operation) as document:
        if document.is_archived:
            raise refuse(gettext("This document is archived, so nobody has to sign it."))
        version = DocumentVersion.objects.get(pk=version_id)
        turn = DUTY.get(Status(version.record_status))
        if turn is None or (duty is not None and turn is not duty):
            text = gettext("This version is %(record_status)s, so it cannot be signed in this way now.")
            text %= {"record_status": version.get_record_status_display()}
            raise refuse(text)
        if not _missing_signers(version, turn).filter(user=user).exists():
            raise ValidationError(gettext("This version is not waiting for your signature."), code="Forbidden")
        version.document = document
        yield document, version, partial(_sign, version, user, turn, options.get("comment", ""), confirmed_by)


def _sign(
    version: DocumentVersion, user: User, duty: Duty, comment: str, confirmed_by: Confirmation, meaning: Meaning
) -> None:
    signature = Signature(
        document=version.document,
        version=version,
        user=user,
        user_name=user.printed_name[:255],
        meaning=meaning,
        comment=comment,
        date=now(),
        file_hash=version.file_hash,
        confirmed_by=confirmed_by,
    )
    signature.clean_fields(exclude=["document", "version", "user"])
    signature.save(force_insert=True)
    Signer.objects.filter(version=version, duty=duty, user=user).update(signature=signature)


def _missing_signers(version: DocumentVersion, duty: Duty) -> QuerySet[Signer]:
    return Signer.objects.filter(version=version, duty=duty, signature__isnull=True)


def replace_signer(signer_id: uuid.UUID, successor: User, *, reason: str, author: Author) -> Signer:
    """Replace a reviewer or approver who is away by another person; signatures that were given are kept.

    The document's own list changes too, so that the next version asks the successor. Raises RecordNotFoundError. Raises
    ValidationError if there is no reason, if the signer has signed already, if the version no longer waits, or if the
    successor is not valid at the site, was asked already, or would approve their own upload.
    """
    why = required_reason(reason)
    unlocked = Signer.objects.select_related("document").filter(pk=signer_id).first()
    if unlocked is None:
        raise RecordNotFoundError
    with changing(
        Document,
        unlocked.document.site_id,
        unlocked.document_id,
        author=author,
        operation="ReplaceSigner",
        reason=why,
    ) as document:
        signer = Signer.objects.select_related("version", "user").get(pk=signer_id)
        version, duty = signer.version, Duty(signer.duty)
        version.document = document
        if signer.signature_id is not None:
            text = gettext("%(user)s has signed already, and a signature cannot be taken back.")
            raise refuse(text % {"user": signer.user})
        if version.record_status not in (TURN[duty], Status.AWAITING_REVIEW):
            text = gettext("This version is %(record_status)s, so nobody has to sign it.")
            text %= {"record_status": version.get_record_status_display()}
            raise refuse(text)
        _check_successor(document, version, duty, successor)
        away = signer.user_id
        signer.user = successor
        signer.save(update_fields=["user"])
        versions.increase_revision(version)
        users = document.user_to_review if duty is Duty.REVIEW else document.user_to_approve
        rows = users.through._base_manager.filter(document=document)
        if rows.filter(user_id=successor.pk).exists():
            rows.filter(user_id=away).delete()
        else:
            rows.filter(user_id=away).update(user_id=successor.pk)
        if version.record_status == TURN[duty]:
            kind = Notice.Kind.REVIEW if duty is Duty.REVIEW else Notice.Kind.APPROVE
            notices.queue_notices(version, kind, [successor.pk])
    return signer


def _check_successor(document: Document, version: DocumentVersion, duty: Duty, successor: User) -> None:
    fault = errors_of(User, [successor], document.site_id).get(successor.pk, "")
    if not fault and version.signers.filter(duty=duty, user=successor).exists():
        fault = gettext("This person has already been asked.")
    elif not fault and duty is Duty.APPROVE and version.created_by_id == successor.pk:
        fault = gettext("The person who uploaded a version cannot approve it.")
    if fault:
        raise fault_at("user", fault, "InvalidReference")


def pending_signers() -> QuerySet[Signer]:
    """Return every signature that a version still waits for, oldest first."""
    turn = Q()
    for duty, status in TURN.items():
        turn |= Q(duty=duty, version__record_status=status)
    signers = Signer.objects.filter(turn, signature__isnull=True, version__document__is_archived=False)
    return signers.select_related("version__document__site", "version__created_by").order_by("version__created", "id")


def overdue_signatures(today: datetime.date) -> QuerySet[Signer]:
    """Return the signatures that were due before this day; a version's are due SIGN_WITHIN after its upload."""
    limit = datetime.datetime.combine(today, datetime.time(), datetime.UTC) - SIGN_WITHIN
    return pending_signers().filter(version__created__lt=limit).order_by()


def waiting_for(user: User) -> QuerySet[Signer]:
    """Return the signatures that this person still owes at the sites where they hold a role, oldest first."""
    return pending_signers().filter(user=user, version__site_id__in=access.sites_where(user))
