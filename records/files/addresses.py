"""Signed addresses of files: each serves one file for 30 minutes, without another credential (DECISIONS 5)."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from django.views.decorators.csrf import csrf_exempt

from records.accounts.models import SubscriptionKey, User
from records.files import downloads
from records.files.models import FileRecord
from records.operations import errors

LIFETIME = 30 * 60
ALLOW_HEADER = {"Allow": "GET, HEAD, OPTIONS"}


@dataclass(frozen=True)
class FileAddresses:
    """The signed addresses of one kind of row, below its endpoint, such as `/document/File/<token>`."""

    endpoint: str
    model: type[FileRecord]
    may_read: Callable[[User, Any], bool]
    """Whether an account may still read a row's file when the address is used."""
    signer: signing.TimestampSigner = field(init=False)

    def __post_init__(self) -> None:
        salt = f"larder.{self.endpoint}.file"
        object.__setattr__(self, "signer", signing.TimestampSigner(salt=salt))

    def url_of(self, row_id: uuid.UUID, key_id: uuid.UUID) -> str:
        """Return the address that serves a row's file, as long as the key that asked for it is valid."""
        token = self.signer.sign(f"{row_id.hex}.{key_id.hex}")
        return f"{settings.BASE_URL}/{self.endpoint}/File/{token}"

    def urls(self) -> list[URLPattern]:
        """Return the URL patterns of the addresses, with and without a trailing slash."""
        view = csrf_exempt(self.serve)
        name = f"{self.endpoint}-file"
        return [path("File/<str:token>", view, name=name), path("File/<str:token>/", view)]

    def serve(self, request: HttpRequest, token: str) -> HttpResponseBase:
        """Serve the file behind a signed address; 404 for one that was altered or has ended, 503 for a damaged file."""
        request.larder_operation = "File"  # type: ignore[attr-defined]
        try:
            if request.method == "OPTIONS":
                return HttpResponse(status=204, headers=ALLOW_HEADER)
            if request.method not in ("GET", "HEAD"):
                raise errors.ApiError(
                    405, "MethodNotAllowed", "This path does not support this method.", headers=dict(ALLOW_HEADER)
                )
            return downloads.serve(request, self.row_behind(token))
        except errors.ApiError as refusal:
            return errors.answer(request, refusal)

    def row_behind(self, token: str) -> FileRecord:
        """Return the row to which a signed address belongs; raises the 403 or 404."""
        try:
            row_id, _, key_id = self.signer.unsign(token, max_age=LIFETIME).partition(".")
        except signing.SignatureExpired as error:
            text = "This address has expired. Ask for a new one."
            raise errors.ApiError(403, "Forbidden", text) from error
        except signing.BadSignature as error:
            raise errors.not_found() from error
        row = self.model._default_manager.filter(pk=uuid.UUID(row_id)).first()
        key = SubscriptionKey.objects.select_related("user").filter(pk=uuid.UUID(key_id)).first()
        if row is None or key is None:
            raise errors.not_found()
        if not key.is_live or not self.may_read(key.user, row):
            raise errors.ApiError(403, "Forbidden", "The user who asked for this address may no longer read the file.")
        return row
