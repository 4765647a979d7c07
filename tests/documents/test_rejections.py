"""A rejected version: its uploader is notified by mail and on the start page, until a new version or a dismissal."""

from typing import Any

import pytest
from django.core import mail
from django.urls import reverse

from documents.models import DocumentVersion, Notice
from records.accounts.models import DefaultRole, User
from records.sites.models import Site
from tests import make
from tests.documents.test_notices import to, work
from tests.make import documents as docs
from tests.make.backoffice import sign_in

START = reverse("admin:index")
WHY = "Step 3 lacks the <temperature>."


def make_rejected(site: Site, uploader: User, **fields: Any) -> DocumentVersion:
    """Make a document of the uploader whose first version was rejected."""
    reviewer = docs.make_signer(site)
    document = docs.make_document(site, author=make.author_of(uploader), user_to_review=[reviewer], **fields)
    return docs.sign(docs.version_of(document), reviewer, "reject", comment=WHY)


def page_of(version: DocumentVersion) -> str:
    return reverse("admin:documents_rejected", args=(version.pk,))


def rejection_lines(client: Any) -> list[str]:
    """Return what the start page says about rejected versions."""
    sections = [section for section in client.get(START).context["waiting"] if section.key == "rejected"]
    return [f"{row.name}: {row.task}" for section in sections for row in section.rows]


@pytest.mark.django_db(transaction=True)
def test_the_uploader_gets_a_mail_with_the_reason_and_nobody_else(site: Site) -> None:
    uploader = docs.make_signer(site, DefaultRole.MANAGER)
    version = make_rejected(site, uploader, name="Hygiene & <order>")
    mail.outbox.clear()
    work()
    [message] = [message for message in mail.outbox if message.subject.startswith("Rejected")]
    assert (message.to, message.subject) == ([uploader.email], "Rejected: Hygiene & <order>, version 1")
    assert WHY in message.body
    assert f"http://127.0.0.1:8000{page_of(version)}" in message.body
    rejecter = version.signatures.get().user
    assert rejecter.printed_name in message.body
    mail.outbox.clear()
    work()
    assert to() == []


@pytest.mark.django_db(transaction=True)
def test_a_superuser_without_a_role_is_notified_of_an_own_version(site: Site) -> None:
    uploader = make.make_user("root", is_superuser=True, email="root@example.com")
    make_rejected(site, uploader, name="Hygiene")
    work()
    [message] = [message for message in mail.outbox if message.subject.startswith("Rejected")]
    assert message.to == [uploader.email]


@pytest.mark.django_db(transaction=True)
def test_who_rejects_an_own_version_or_dismissed_it_or_replaced_it_gets_no_mail(site: Site) -> None:
    uploader = docs.make_signer(site, DefaultRole.MANAGER)
    document = docs.make_document(site, author=make.author_of(uploader), user_to_review=[uploader])
    docs.sign(docs.version_of(document), uploader, "reject", comment="A page is missing.")
    dismissed_version, replaced_version = make_rejected(site, uploader), make_rejected(site, uploader)
    client = sign_in(uploader, site)
    client.post(page_of(dismissed_version))
    docs.add_version(replaced_version.document, author=make.author_of(uploader))
    work()
    assert [message.subject for message in mail.outbox if "Rejected" in message.subject] == []


def test_the_start_page_says_so_until_a_new_version(site: Site) -> None:
    uploader = docs.make_signer(site, DefaultRole.MANAGER)
    version = make_rejected(site, uploader, name="Hygiene")
    client = sign_in(uploader, site)
    who = version.signatures.get().user_name
    assert rejection_lines(client) == [f"Your version 1 of Hygiene: Rejected by {who}: {WHY}"]
    assert rejection_lines(sign_in(docs.make_signer(site, DefaultRole.MANAGER), site)) == []
    page = client.get(page_of(version)).text
    assert "Step 3 lacks the &lt;temperature&gt;." in page
    assert reverse("admin:documents_document_step", args=(version.document_id, "upload")) in page
    docs.add_version(version.document, author=make.author_of(uploader))
    assert rejection_lines(client) == []
    assert client.get(page_of(version)).status_code == 302


def test_a_dismissed_notice_does_not_come_back_and_the_version_stays_as_it_is(site: Site) -> None:
    uploader = make.make_user(site=site, role=DefaultRole.MANAGER)
    version, other = make_rejected(site, uploader), make_rejected(site, uploader)
    client = sign_in(uploader, site)
    for _ in range(2):
        assert client.post(page_of(version)).status_code == 302
    assert [one.partition(" of ")[2].partition(":")[0] for one in rejection_lines(client)] == [other.document.name]
    assert Notice.objects.filter(version=version, kind=Notice.Kind.REJECTED).count() == 1
    assert docs.statuses(version.document) == ["Awaiting Change"]


def test_nobody_else_opens_or_dismisses_it(site: Site, other_site: Site) -> None:
    uploader = docs.make_signer(site, DefaultRole.MANAGER)
    version = make_rejected(site, uploader)
    for user in (docs.make_signer(site, DefaultRole.MANAGER), version.signatures.get().user):
        client = sign_in(user, site)
        assert client.get(page_of(version)).status_code == 302
        client.post(page_of(version))
    assert rejection_lines(sign_in(uploader, site))
    version.document.is_archived = True
    version.document.save(update_fields=["is_archived"])
    assert rejection_lines(sign_in(uploader, site)) == []


def _service_account(site: Site) -> User:
    return docs.make_signer(site, DefaultRole.MANAGER, is_service_account=True)


def _inactive_user(site: Site) -> User:
    user = docs.make_signer(site, DefaultRole.MANAGER)
    User.objects.filter(pk=user.pk).update(is_active=False)
    return user


def _elsewhere(site: Site) -> User:
    user = docs.make_signer(site, DefaultRole.MANAGER)
    make.give_role(user, make.make_site(), DefaultRole.MANAGER)
    user.memberships.filter(role__site=site).delete()
    return user


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("make_uploader", [_service_account, _inactive_user, _elsewhere, None])
def test_who_may_upload_a_new_version_is_told_where_the_uploader_cannot_be(site: Site, make_uploader: Any) -> None:
    manager, other = (docs.make_signer(site, DefaultRole.MANAGER) for _ in range(2))
    reader = docs.make_signer(site, DefaultRole.READER)
    partial = make.make_user(site=site, email="partial@example.org")
    make.make_role(site, ["documents.view_document", "documents.change_document"], [partial])
    reviewer = docs.make_signer(site, DefaultRole.MANAGER)
    author = make.author_of(make_uploader(site)) if make_uploader is not None else make.SYSTEM
    document = docs.make_document(site, name="Hygiene", author=author, user_to_review=[reviewer])
    version = docs.sign(docs.version_of(document), reviewer, "reject", comment=WHY)
    work()
    mails = [message for message in mail.outbox if message.subject.startswith("Rejected")]
    assert sorted(message.to[0] for message in mails) == sorted([manager.email, other.email])
    assert all('version 1 of the document "Hygiene"' in str(message.body) for message in mails)
    assert not any("your version" in str(message.body) for message in mails)
    client = sign_in(manager, site)
    assert [one.partition(":")[0].partition(",")[0] for one in rejection_lines(client)] == ["Version 1 of Hygiene"]
    for hidden_from in (reader, partial):
        assert rejection_lines(sign_in(hidden_from, site)) == []
        assert sign_in(hidden_from, site).get(page_of(version)).status_code == 302
    assert reverse("admin:documents_document_step", args=(document.pk, "upload")) in client.get(page_of(version)).text
    client.post(page_of(version))
    assert rejection_lines(client) == []
    assert len(rejection_lines(sign_in(other, site))) == 1
    docs.add_version(document, author=make.author_of(manager))
    assert rejection_lines(sign_in(other, site)) == []


def test_who_may_only_read_is_told_without_a_way_to_upload(site: Site) -> None:
    uploader = make.make_user(site=site, role=DefaultRole.READER)
    version = make_rejected(site, uploader)
    page = sign_in(uploader, site).get(page_of(version))
    assert "Dismiss the notice" in page.text
    assert "/do/upload/" not in page.text
