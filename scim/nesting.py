"""Groups within groups: whom a group holds through others, and which groups a user is in that way."""

import uuid
from collections.abc import Iterator
from typing import Any

from django.db import connection
from django.db.models import BooleanField, Func, QuerySet

from records.accounts.models import Role

_HELD = """
WITH RECURSIVE held (user_id, role_id, is_direct) AS (
    SELECT m.user_id, m.role_id, 1 FROM accounts_rolemembership m WHERE m.user_id IN ({users})
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


def groups_held(users: list[uuid.UUID], visible: QuerySet[Role]) -> Iterator[tuple[uuid.UUID, uuid.UUID, str, bool]]:
    """Yield each user's visible groups by id: user, group, its name, and whether the user is a member itself.

    One query, however deep groups are nested.
    """
    if not users:
        return
    inner, parameters = visible.order_by().values("id", "name").query.sql_with_params()
    keys = [key if connection.vendor == "postgresql" else key.hex for key in users]
    statement = _HELD.format(users=", ".join(["%s"] * len(keys)), visible=inner)
    with connection.cursor() as cursor:
        cursor.execute(statement, [*keys, *parameters])
        for user_id, role_id, name, is_direct in cursor.fetchall():
            yield _id(user_id), _id(role_id), name, bool(is_direct)


def _id(value: Any) -> uuid.UUID:
    return value if isinstance(value, uuid.UUID) else uuid.UUID(value)


class IsHeld(Func):
    """Whether a user is in a group, directly or through groups within groups: `IsHeld(group, user)`."""

    output_field = BooleanField()
    arity = 2

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **extra: Any) -> tuple[str, Any]:
        """Return the recursive test; it starts from the user's few groups, never from the group's many members."""
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
