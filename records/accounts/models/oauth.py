"""OAuth 2 clients of users and the access tokens that they fetch (DECISIONS 2.3)."""

import uuid
from typing import ClassVar

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext

from records.accounts.models.credentials import Credential
from records.history.trail import now
from records.sites.text import LineField

READ_MATERIALS, WRITE_MATERIALS = "materials:read", "materials:write"
SCOPES = (READ_MATERIALS, WRITE_MATERIALS)


def are_scopes(value: str) -> None:
    """Raise ValidationError unless the value is a list of known scopes, separated by spaces."""
    scopes = value.split()
    if not scopes or not set(scopes) <= set(SCOPES):
        raise ValidationError(
            gettext("Possible scopes: %(names)s.") % {"names": ", ".join(SCOPES)}, code="InvalidValue"
        )


class OAuthClient(Credential):
    """A program that fetches access tokens in its user's name; its Id is the client id."""

    user = models.ForeignKey("accounts.User", models.PROTECT, related_name="oauth_clients")
    scopes = LineField(default=" ".join(SCOPES), blank=False, validators=[are_scopes])

    class Meta(Credential.Meta):
        verbose_name = "OAuth client"

    @property
    def history_site_id(self) -> uuid.UUID | None:
        """Return the site whose history contains the client's changes."""
        return self.user.home_site_id

    @property
    def client_id(self) -> str:
        """Return the client id, which the program sends together with its secret."""
        return str(self.pk)


class AccessToken(models.Model):
    """A token that a client fetched: it gives access to /materials for 30 minutes, with a key of the same user.

    Only its digest is stored. Tokens are not records and leave no Change; changes of the client do.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    client = models.ForeignKey(OAuthClient, models.CASCADE, related_name="tokens", db_index=False)
    scopes = LineField(editable=False)
    issued = models.DateTimeField(default=now, editable=False)
    expires = models.DateTimeField(editable=False)
    revoked = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("-issued", "id")
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=("client", "expires"), name="token_of_client")]

    def __str__(self) -> str:
        return f"{self.client}, {self.issued:%Y-%m-%d %H:%M}"
