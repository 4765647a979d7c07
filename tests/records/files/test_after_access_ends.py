"""Files behind a session or a signed address: nothing of one is told, by no method, once what opened it has ended."""

import io
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import reverse
from PIL import Image

from documents.models import DocumentVersion
from records.accounts.actions import end_access, end_sessions, set_members
from records.accounts.keys import revoke_key
from records.accounts.models import DefaultRole, Role, SubscriptionKey, User
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.make.attachments import make_attachment
from tests.make.backoffice import sign_in
from tests.make.documents import make_document
from tests.make.packs import finished_pack

WAYS: tuple[tuple[str, dict[str, str]], ...] = (
    ("GET", {}),
    ("HEAD", {}),
    ("GET", {"Range": "bytes=0-3"}),
    ("HEAD", {"Range": "bytes=0-3"}),
    ("GET", {"If-Range": "<tag>", "Range": "bytes=0-3"}),
    ("GET", {"If-None-Match": "<tag>"}),
)
"""Each method, with the headers of programs that go on with a download or ask whether a file has changed."""


def picture() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(file, "PNG")
    return file.getvalue()


def take_role(user: User, site: Site) -> None:
    set_members(Role.objects.get(site=site, default_role=DefaultRole.MANAGER), remove=[user], author=make.SYSTEM)


def end_key(user: User, site: Site) -> None:
    revoke_key(SubscriptionKey.objects.get(user=user).pk, author=make.SYSTEM)


ENDS: dict[str, Callable[[User, Site], Any]] = {
    "role": take_role,
    "access": lambda user, site: end_access(user, author=make.SYSTEM),
    "session": lambda user, site: end_sessions(user),
    "key": end_key,
}
BY_KEY = {"role", "access", "key"}
BY_SESSION = {"role", "access", "session"}


def doors(user: User, site: Site) -> dict[str, tuple[Client, str, set[str]]]:
    """Return the address of each file, whose browser or program opens it, and what ends that."""
    document = make_document(site, b"Wash your hands.")
    attachment = make_attachment(site, content=picture(), file_name="a.png", file_type="image/png")
    version = DocumentVersion.objects.get(document=document)
    api, program = Api(make.make_key(site, user=user)), Client()
    answers = {
        "document": api.get(f"/document/GetDocument/{document.pk}", {"WithURL": "true"}),
        "attachment": api.get(f"/attachment/GetAttachment/{attachment.pk}", {"WithURL": "true"}),
    }
    pages = {
        "pack": reverse("admin:packs_file", args=(finished_pack(site, user).pk,)),
        "attachment": reverse("admin:attachments_file", args=(attachment.pk,)),
        "preview": reverse("admin:attachments_preview", args=(attachment.pk,)),
        "version": reverse("admin:documents_file", args=(version.pk,)),
        "version in force": reverse("admin:documents_in_force", args=(document.pk,)),
    }
    browser = sign_in(user, site)
    return {
        **{name: (browser, page, BY_SESSION) for name, page in pages.items()},
        **{f"signed {kind}": (program, urlsplit(one.json()["FileURL"]).path, BY_KEY) for kind, one in answers.items()},
    }


@pytest.mark.parametrize("end", ENDS)
def test_no_way_of_asking_tells_of_a_file_after_the_end(site: Site, end: str) -> None:
    user = make.make_user(site=site, role=DefaultRole.MANAGER)
    clients = doors(user, site)
    tags = {}
    for name, (client, path, _) in clients.items():
        answer: Any = client.get(path)
        assert answer.status_code == 200, name
        assert answer.getvalue(), name
        tags[name] = answer["ETag"]
    ENDS[end](user, site)
    for name, (client, path, ends) in clients.items():
        for method, headers in WAYS:
            request_headers = {header: value.replace("<tag>", tags[name]) for header, value in headers.items()}
            answer = client.generic(method, path, headers=request_headers)
            answer.getvalue()  # A file that is not read to its end stays open.
            facts = [answer[one] for one in ("ETag", "Content-Range", "Content-Disposition") if one in answer]
            if end in ends:
                assert answer.status_code in (302, 403, 404), (name, method, headers)
                assert facts == [], (name, method, headers)
            else:
                assert answer.status_code in (200, 206, 304), (name, method, headers)
