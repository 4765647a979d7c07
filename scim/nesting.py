"""Groups within groups: which groups a user belongs to directly or through other groups."""

import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import BooleanField, Func

from records.accounts.models import Role
from records.history.sets import id_of, ids_parameter, ids_sql
from records.history.statements import Statement
from scim.callers import Scope
from scim.prepared import prepared

_HELD = """
WITH RECURSIVE held (user_id, role_id, is_direct) AS (
    SELECT m.user_id, m.role_id, 1 FROM accounts_rolemembership m WHERE m.user_id IN ({ids})
    UNION
    SELECT held.user_id, m.role_id, 0
      FROM held JOIN accounts_rolemembership m ON m.member_role_id = held.role_id
      JOIN accounts_role r ON r.id = held.role_id AND NOT r.is_archived
)
SELECT held.user_id, held.role_id, visible.name, MAX(held.is_direct)
  FROM held JOIN ({visible}) visible ON visible.id = held.role_id
 GROUP BY held.user_id, held.role_id, visible.name
 ORDER BY held.user_id, held.role_id
"""


def groups_of(users: Iterable[uuid.UUID], scope: Scope) -> Statement:
    """Return the statement that selects each user's visible groups by id, however deeply groups are nested."""
    visible = prepared("visible roles", scope, lambda: Role.objects.seen_by(scope).order_by().values_list("id", "name"))
    return _HELD.format(ids=ids_sql(), visible=visible.sql), [ids_parameter(users), *visible.parameters]


def group_rows(rows: list[tuple[Any, ...]]) -> Iterator[tuple[uuid.UUID, uuid.UUID, str, bool]]:
    """Yield the user, group, group name and whether the membership is direct, for each row of `groups_of`."""
    for user_id, role_id, name, is_direct in rows:
        yield id_of(user_id), id_of(role_id), name, bool(is_direct)


class IsMember(Func):
    """Whether a user is in a group, directly or through groups within groups: `IsMember(group, user)`."""

    output_field = BooleanField()
    arity = 2

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **extra: Any) -> tuple[str, Any]:
        """Return the recursive test. It starts from the user's few groups instead of the group's many members."""
        group, user = self.source_expressions
        group_sql, group_parameters = compiler.compile(group)
        user_sql, user_parameters = compiler.compile(user)
        return (
            f"({group_sql} IN (WITH RECURSIVE held (role_id) AS ("  # noqa: S608 (compiled expressions alone)
            f"SELECT m.role_id FROM accounts_rolemembership m WHERE m.user_id = {user_sql} UNION "
            "SELECT m.role_id FROM held JOIN accounts_rolemembership m ON m.member_role_id = held.role_id "
            "JOIN accounts_role r ON r.id = held.role_id AND NOT r.is_archived) SELECT role_id FROM held))",
            [*group_parameters, *user_parameters],
        )
