"""What the token of a directory sees: the people and roles of the directory's sites (DECISIONS 7).

`User.objects.seen_by`, `Role.objects.seen_by` and `RoleMembership.objects.seen_by` follow this rule in queries;
`is_seen_by` follows it for one loaded row.
"""

import uuid
from collections.abc import Collection
from typing import Protocol

from django.db.models import Q


class DirectoryScope(Protocol):
    """The directory of a token and the directory's sites, which together decide what the token sees."""

    @property
    def directory_id(self) -> uuid.UUID:
        """Return the id of the directory."""

    @property
    def site_ids(self) -> Collection[uuid.UUID]:
        """Return the ids of the directory's sites."""


def users_seen_by(scope: DirectoryScope, path: str = "") -> Q:
    """Return the condition for the users that a token sees: people at its sites whom no directory removed.

    `path` is the lookup that leads to the user, such as "user__".
    """
    return Q(
        (f"{path}home_site_id__in", scope.site_ids),
        (f"{path}employee__isnull", False),
        (f"{path}removed__isnull", True),
        (f"{path}is_service_account", False),
    )


def roles_seen_by(scope: DirectoryScope, path: str = "") -> Q:
    """Return the condition for the roles that a token sees: those of its sites, except those that it deleted itself."""
    is_hidden = Q((f"{path}directory_id", scope.directory_id), (f"{path}hidden_from_directory", True))
    return Q((f"{path}site_id__in", scope.site_ids), (f"{path}is_archived", False)) & ~is_hidden
