"""Mails to people who must sign and to those who are notified; sent after the commit, once, with retries."""

import datetime
from typing import Any

import pytest
from django.core import mail
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import transaction
from django.urls import reverse
from django_tasks_db.models import DBTaskResult

from documents import actions, approvals, tasks
from documents.models import Notice, Signer
from records.accounts.actions import set_members
from records.accounts.models import Role
from records.operations import stored_mails, worker
from records.sites.models import Site
from tests import make
from tests.make import documents as docs
from tests.make.backoffice import address


class ServerDownError(Exception):
    """Raised where a mail is sent while the mail server is down."""


def work() -> None:
    """Let a worker run every task that is due, as `manage.py db_worker --batch` does."""
    call_command("db_worker", batch=True, startup_delay=False, verbosity=0)


def to() -> list[str]:
    """Return whom the mails went to, in order."""
    return [address for message in mail.outbox for address in message.to]


@pytest.mark.django_db(transaction=True)
def test_mails_follow_the_turn_and_tell_who_is_notified(site: Site) -> None:
    one, two, approver, recipient = (docs.make_signer(site) for _ in range(4))
    lists: dict[str, Any] = {"user_to_review": [one, two], "user_to_approve": [approver], "user_to_notify": [recipient]}
    document = docs.make_document(site, name="Hygiene & <order>", **lists)
    version = docs.version_of(document)
    work()
    assert sorted(to()) == sorted([one.email, two.email])
    assert mail.outbox[0].subject == "Please review: Hygiene & <order>, version 1"
    assert f"http://127.0.0.1:8000{reverse('admin:documents_sign', args=(version.pk,))}" in mail.outbox[0].body
    assert one.printed_name in "".join(str(message.body) for message in mail.outbox)
    mail.outbox.clear()
    docs.sign(version, one)
    work()
    assert to() == []
    docs.sign(version, two)
    work()
    assert to() == [approver.email]
    docs.sign(version, approver, "approve")
    work()
    work()
    assert to() == [approver.email, recipient.email]
    assert mail.outbox[1].subject == "In force: Hygiene & <order>, version 1"
    assert f"http://127.0.0.1:8000{address(document, 'read')}\n" in mail.outbox[1].body


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_fails_sends_nothing(site: Site) -> None:
    signer = docs.make_signer(site)

    def transaction_that_fails() -> None:
        with transaction.atomic():
            docs.make_document(site, user_to_review=[signer])
            raise ServerDownError

    with pytest.raises(ServerDownError):
        transaction_that_fails()
    with pytest.raises(ValidationError):
        docs.make_document(site, name="", user_to_review=[signer])
    work()
    assert to() == []
    assert not Notice.objects.exists()
    assert not DBTaskResult.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_mail_is_sent_again_later_while_the_server_is_down_and_then_once(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    signer = docs.make_signer(site)
    docs.make_document(site, user_to_review=[signer])

    def down(*args: Any, **kwargs: Any) -> None:
        raise ConnectionRefusedError

    with monkeypatch.context() as broken:
        broken.setattr("django.core.mail.backends.locmem.EmailBackend.send_messages", down)
        work()
    notice = Notice.objects.get()
    assert (notice.sent, notice.attempts, notice.last_error) == (None, 1, "ConnectionRefusedError")
    later = DBTaskResult.objects.filter(status="READY").order_by("run_after")
    assert any(abs(one.run_after - notice.due) < datetime.timedelta(seconds=30) for one in later)
    work()
    assert to() == []
    Notice.objects.update(due=notice.due - datetime.timedelta(hours=1))
    tasks.send_notices.call()
    tasks.send_notices.call()
    assert to() == [signer.email]
    assert mail.outbox[0].extra_headers["Message-ID"].startswith(f"<{notice.pk}@")


@pytest.mark.django_db(transaction=True)
def test_what_a_killed_worker_had_taken_comes_up_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    signer = docs.make_signer(site)
    docs.make_document(site, user_to_review=[signer])

    def die(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr("django.core.mail.backends.locmem.EmailBackend.send_messages", die)
        with pytest.raises(KeyboardInterrupt):
            tasks.send_notices.call()
    tasks.send_notices.call()
    assert to() == []
    DBTaskResult.objects.all().delete()
    assert not tasks.is_waiting()
    Notice.objects.update(due=Notice.objects.get().due - stored_mails.LEASE)
    assert tasks.is_waiting()
    worker.enqueue_due_jobs()
    assert not tasks.is_waiting(), "It is queued."
    tasks.send_notices.call()
    assert to() == [signer.email]


@pytest.mark.django_db(transaction=True)
def test_nobody_is_asked_for_what_no_longer_waits(site: Site) -> None:
    away, deputy, quick = (docs.make_signer(site) for _ in range(3))
    document = docs.make_document(site, user_to_review=[away, quick])
    signer = Signer.objects.get(version=docs.version_of(document), user=away)
    approvals.replace_signer(signer.pk, deputy, reason="On leave.", author=make.SYSTEM)
    docs.sign(docs.version_of(document), quick)
    work()
    assert to() == [deputy.email]
    docs.add_version(document)
    work()
    assert sorted(to()[1:]) == sorted([quick.email, deputy.email])


@pytest.mark.django_db(transaction=True)
def test_whoever_was_replaced_and_is_asked_again_gets_another_mail(site: Site) -> None:
    first, second = docs.make_signer(site), docs.make_signer(site)
    docs.make_document(site, user_to_review=[first])
    signer = Signer.objects.get()
    work()
    approvals.replace_signer(signer.pk, second, reason="On leave.", author=make.SYSTEM)
    approvals.replace_signer(signer.pk, first, reason="Back again.", author=make.SYSTEM)
    work()
    approvals.replace_signer(signer.pk, second, reason="On leave.", author=make.SYSTEM)
    work()
    assert to() == [first.email, first.email, second.email]


@pytest.mark.django_db(transaction=True)
def test_somebody_who_left_the_site_is_told_nothing_of_its_documents(site: Site) -> None:
    member, leaver = docs.make_signer(site), docs.make_signer(site)
    document = docs.make_document(site, user_to_notify=[member, leaver])
    work()
    mail.outbox.clear()
    set_members(Role.objects.get(site=site, default_role="standard"), remove=[leaver], author=make.SYSTEM)
    docs.add_version(document)
    work()
    assert to() == [member.email]


def test_an_account_without_address_is_owed_nothing(site: Site) -> None:
    silent = make.make_user(site=site, role=make.DefaultRole.STANDARD)
    docs.make_document(site, user_to_review=[silent])
    assert not Notice.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_what_was_dropped_while_a_document_was_archived_is_mailed_when_it_is_back(site: Site) -> None:
    signer, leaver = docs.make_signer(site), docs.make_signer(site)
    document = docs.make_document(site, user_to_review=[signer, leaver])
    stamps: dict[str, Any] = {"author": make.SYSTEM, "reason": "Filed twice"}
    actions.archive_document(site.pk, document.pk, archived=True, **stamps)
    work()
    assert to() == []
    set_members(Role.objects.get(site=site, default_role="standard"), remove=[leaver], author=make.SYSTEM)
    actions.archive_document(site.pk, document.pk, archived=False, **stamps)
    work()
    actions.archive_document(site.pk, document.pk, archived=False, **stamps)
    work()
    assert to() == [signer.email]
