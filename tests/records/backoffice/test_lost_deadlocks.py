"""Pages whose write loses a deadlock on PostgreSQL: it begins again by itself, so nobody has to type anything again."""

from collections.abc import Callable
from typing import Any

import pytest
from allauth.mfa.webauthn.internal import auth as passkeys
from django.db import OperationalError
from django.urls import reverse
from psycopg.errors import DeadlockDetected

from documents.models import Signature
from records.attachments.models import Attachment
from records.backoffice import bulk
from records.history import retrying
from records.history.models import Change
from records.history.trail import Trail
from records.items.models import Item
from records.sites.models import Site
from tests.make.backoffice import address, browser, form_of, save, sign_in
from tests.make.documents import make_document, make_signer
from tests.make.items import make_item
from tests.records.backoffice.test_bulk import post_step
from tests.records.backoffice.test_passkeys import Passkey

pytestmark = pytest.mark.django_db

ADD = reverse("admin:items_item_add")
LoseDeadlocks = Callable[..., list[int]]


@pytest.fixture
def lose_deadlocks(monkeypatch: pytest.MonkeyPatch) -> LoseDeadlocks:
    """Return a function that lets the transactions with these numbers lose a deadlock, and returns their count."""

    def lose(*numbers: int) -> list[int]:
        end, count = Trail.end, [0]

        def end_or_lose(trail: Trail) -> None:
            count[0] += 1
            if count[0] in numbers:
                raise OperationalError("deadlock detected") from DeadlockDetected()
            end(trail)

        monkeypatch.setattr(Trail, "end", end_or_lose)
        return count

    return lose


def test_a_form_that_loses_a_deadlock_is_stored_once(site: Site, lose_deadlocks: LoseDeadlocks) -> None:
    client, item = browser(site), make_item(site, name="Oven")
    count = lose_deadlocks(1, 3)
    answer = save(client, item, name="Mixer", change_reason="Renamed")
    assert answer.status_code == 302, answer.text
    assert count == [2]
    response: Any = client.post(ADD, {**form_of(client.get(ADD)), "name": "Scale"})
    assert response.status_code == 302, response.text
    assert count == [4]
    assert sorted(Item.objects.values_list("name", flat=True)) == ["Mixer", "Scale"]
    assert Change.objects.filter(operation="UpdateItem").count() == 1
    assert client.get(response.url).text.count("was added successfully") == 1


def test_a_form_that_always_loses_is_503_and_stores_nothing(site: Site, lose_deadlocks: LoseDeadlocks) -> None:
    client, item = browser(site), make_item(site, name="Oven")
    client.raise_request_exception = False
    count = lose_deadlocks(*range(1, 20))
    assert save(client, item, name="Mixer", change_reason="Renamed").status_code == 503
    assert count == [retrying.ATTEMPTS]
    item.refresh_from_db()
    assert item.name == "Oven"


def test_a_batch_that_loses_a_deadlock_begins_again_without_those_before_it(
    site: Site, monkeypatch: pytest.MonkeyPatch, lose_deadlocks: LoseDeadlocks
) -> None:
    monkeypatch.setattr(bulk, "BATCH", 2)
    items, client = [make_item(site) for _ in range(4)], browser(site)
    lose_deadlocks(2)
    answer: Any = post_step(client, "archive", *items, confirm="yes", change_reason="Sold")
    assert "4 of 4 done" in client.get(answer.url).text
    assert Change.objects.filter(operation="ArchiveItem").count() == 4


def test_an_attachment_of_several_that_loses_a_deadlock_is_stored_once(
    site: Site, lose_deadlocks: LoseDeadlocks
) -> None:
    client, item = browser(site), make_item(site)
    url = reverse("admin:attachments_add", args=("item", item.pk))
    body = b"".join(
        b'--x\r\nContent-Disposition: form-data; name="files"; filename="%b.txt"\r\n\r\n%b\r\n' % (name, name)
        for name in (b"a", b"b")
    )
    once = form_of(client.get(ADD))["larder_once"][0].encode()
    body += b'--x\r\nContent-Disposition: form-data; name="larder_once"\r\n\r\n%b\r\n--x--\r\n' % once
    lose_deadlocks(2)
    answer = client.post(url, body, content_type="multipart/form-data; boundary=x")
    assert answer.status_code == 302, answer.text
    assert sorted(Attachment.objects.values_list("file_name", flat=True)) == ["a.txt", "b.txt"]
    assert "Attached: a.txt, b.txt." in client.get(address(item, "read")).text


def test_a_signature_by_passkey_that_loses_a_deadlock_is_stored_once(site: Site, lose_deadlocks: LoseDeadlocks) -> None:
    signer = make_signer(site)
    passkey, client = Passkey(signer), sign_in(signer, site)
    page = reverse("admin:documents_sign", args=(make_document(site, user_to_review=[signer]).versions.get().pk,))
    client.get(page)
    answer = passkey.answer(client.session[passkeys.STATE_SESSION_KEY]["challenge"])
    count = lose_deadlocks(1)
    response = client.post(page, {"decision": "sign", "credential": answer})
    assert (response.status_code, count) == (302, [2]), response.text
    assert Signature.objects.get().confirmed_by == "Passkey"
