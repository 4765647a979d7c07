"""A name with a line break begins no other header of a mail, and stops no mail."""

from collections.abc import Callable

import pytest
from django.core import mail

from documents import tasks
from documents.models import Notice
from records.accounts.directory_mails import mail_about_directory
from records.accounts.models import DefaultRole, Directory, SecurityKind, User
from records.sites.models import Site
from records.webhooks.models import Subscription
from records.webhooks.notices import mail_about_pause
from tests import make
from tests.make import documents as docs
from tests.make.webhooks import make_webhook
from tests.scim import people

pytestmark = pytest.mark.django_db

NAME = "Night shift\r\nBcc: eve@evil.example\r\n\r\nHello"


def _of_a_webhook(site: Site, user: User) -> None:
    webhook = make_webhook(site, "https://receiver.invalid/larder")
    Subscription.objects.filter(pk=webhook.pk).update(name=NAME)
    mail_about_pause.call(str(webhook.pk), str(user.pk), "Gone", "2026-03-01 09:00 UTC")


def _of_a_directory(site: Site, user: User) -> None:
    directory = people.make_directory(site)
    Directory.objects.filter(pk=directory.pk).update(name=NAME)
    mail_about_directory.call(str(directory.pk), str(user.pk), str(SecurityKind.DIRECTORY_STOPPED), "", "2026-03-01")


def _of_a_document(site: Site, user: User) -> None:
    document = docs.make_document(site, user_to_review=[user])
    type(document).objects.filter(pk=document.pk).update(name=NAME)
    notice = Notice.objects.select_related("version__document__site", "user").get(user=user)
    tasks.message_of(notice).send()


@pytest.mark.parametrize("tell", [_of_a_webhook, _of_a_directory, _of_a_document])
def test_a_name_with_a_line_break_stays_in_the_subject(site: Site, tell: Callable[[Site, User], None]) -> None:
    user = make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR, email="keeper@corp.example")
    tell(site, user)
    (message,) = mail.outbox
    assert message.recipients() == ["keeper@corp.example"]
    assert "Night shift Bcc: eve@evil.example Hello" in message.subject
    assert message.message()["Bcc"] is None
