"""Pages while the database is busy or cannot be written, and while the disk is full."""

import errno
import time
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.urls import reverse

from records.backoffice.sign_in.events import LAST_USED, SIGNED_IN
from records.backoffice.transfer import sheets
from records.items.models import Item
from records.sites.models import Site
from tests.make.backoffice import browser
from tests.make.locks import lock_tables
from tests.make.transfer import page

AGO = 40 * 60


def browser_of_a_while_ago(site: Site) -> Any:
    """Return a browser whose session was noted as used so long ago, so that its next page notes it again."""
    client = browser(site)
    session = client.session
    session[SIGNED_IN] = session[LAST_USED] = int(time.time()) - AGO
    session.save()
    return client


@pytest.mark.django_db(transaction=True)
def test_a_page_is_shown_while_another_writer_keeps_the_session_from_being_noted(site: Site) -> None:
    client = browser_of_a_while_ago(site)
    last_used, start = client.session[LAST_USED], time.monotonic()
    with lock_tables("usersessions_usersession", "django_session"):
        assert client.get("/admin/").status_code == 200
    # A write would have waited for ten seconds.
    assert time.monotonic() - start < 8
    assert client.session[LAST_USED] == last_used
    assert client.get("/admin/").status_code == 200
    assert client.session[LAST_USED] > last_used


def refuse_sessions(execute: Any, sql: str, *arguments: Any) -> Any:
    """Refuse to store a session, as a database that cannot be written does."""
    if sql.startswith("UPDATE") and "django_session" in sql:
        raise OperationalError("attempt to write a readonly database")
    return execute(sql, *arguments)


@pytest.mark.django_db
def test_a_page_is_shown_while_sessions_cannot_be_stored(site: Site) -> None:
    client = browser_of_a_while_ago(site)
    with connection.execute_wrapper(refuse_sessions):
        assert client.get("/admin/").status_code == 200


@pytest.mark.django_db
def test_a_session_that_has_to_be_stored_and_cannot_be_is_503(site: Site, other_site: Site) -> None:
    client = browser(site)
    client.raise_request_exception = False
    with connection.execute_wrapper(refuse_sessions):
        answer = client.post(reverse("admin:switch-site"), {"site": str(site.pk)})
    assert answer.status_code == 503
    assert "cannot be reached" in answer.text
    assert "<h1>Not possible at the moment</h1>" in answer.text
    assert answer["Retry-After"]


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_an_export_on_a_full_disk_is_503_and_says_so(site: Site, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    def raise_disk_full(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sheets, "tempfile", SimpleNamespace(TemporaryFile=raise_disk_full))
    client = browser(site)
    client.raise_request_exception = False
    answer: Any = client.get(page(Item, "export", kind))
    assert answer.status_code == 503
    assert "no space left on its disk" in answer.text


def refuse_writes(execute: Any, sql: str, *arguments: Any) -> Any:
    """Refuse every write, as a database that cannot be written does."""
    if sql.startswith(("INSERT", "UPDATE", "DELETE")):
        raise OperationalError("attempt to write a readonly database")
    return execute(sql, *arguments)


@pytest.mark.django_db
def test_a_sign_in_that_cannot_begin_a_session_is_503(client: Any) -> None:
    client.raise_request_exception = False
    with connection.execute_wrapper(refuse_writes):
        answer = client.get("/accounts/login/passkey/", headers={"X-Requested-With": "XMLHttpRequest"})
    assert answer.status_code == 503
    assert client.get("/admin/login/").status_code == 200
