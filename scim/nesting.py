"""Groups within groups: which groups a user belongs to directly or through other groups."""

import uuid
from collections.abc import Iterator
from typing import Any

import orjson
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, Func, TextField
from django.db.models.sql.compiler import SQLCompiler

from records.accounts.models import Role
from records.history.statements import Statement, parameter
from scim.callers import Scope
from scim.prepared import prepare

_GROUPS_SQL = """
(WITH RECURSIVE held (role_id, is_direct) AS (
    SELECT m.role_id, 1 FROM accounts_rolemembership m WHERE m.user_id = {user}
    UNION
    SELECT m.role_id, 0
      FROM held JOIN accounts_rolemembership m ON m.member_role_id = held.role_id
     WHERE {role_is_active}
)
SELECT {json_array} FROM (
    SELECT held.role_id, MAX(held.is_direct) AS is_direct,
           (SELECT visible.name FROM ({visible}) visible WHERE visible.id = held.role_id) AS name
      FROM held
     GROUP BY held.role_id
     ORDER BY held.role_id
) g)"""
_ROLE_IS_ACTIVE = "NOT (SELECT r.is_archived FROM accounts_role r WHERE r.id = m.member_role_id)"
"""Whether the members of a role also hold its groups. It is a subquery, because PostgreSQL expects many rows of a
recursion, and would read all roles for each user in order to join them."""
_JSON_ARRAY = {
    "postgresql": "json_agg(json_build_array(g.role_id, g.name, g.is_direct))::text",
    "sqlite": "json_group_array(json_array(g.role_id, g.name, g.is_direct))",
}


class GroupsOf(Func):
    """The groups of a user that a token sees, as the JSON text that `group_rows` reads: `GroupsOf(scope, user)`."""

    output_field = TextField()
    arity = 1

    def __init__(self, scope: Scope, user: object) -> None:
        super().__init__(user)
        self.scope = scope

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, *args: object, **extra: object
    ) -> tuple[str, Any]:
        """Return the scalar subquery, which follows groups within groups however deeply they are nested."""
        user_sql, user_parameters = compiler.compile(self.source_expressions[0])
        sql, parameters = _groups_statement(self.scope, user_sql)
        return sql, [*user_parameters, *parameters]


def _groups_statement(scope: Scope, user: str) -> Statement:
    visible = prepare("visible roles", scope, lambda: Role.objects.seen_by(scope).order_by().values_list("id", "name"))
    sql = _GROUPS_SQL.format(
        user=user, role_is_active=_ROLE_IS_ACTIVE, json_array=_JSON_ARRAY[connection.vendor], visible=visible.sql
    )
    return sql, visible.parameters


def groups_of(user_id: uuid.UUID, scope: Scope) -> Statement:
    """Return the statement that selects a user's visible groups as one JSON text, which `group_rows` reads."""
    sql, parameters = _groups_statement(scope, "%s")
    return f"SELECT {sql}", [parameter(user_id), *parameters]


def group_rows(text: str | None) -> Iterator[tuple[uuid.UUID, str, bool]]:
    """Yield the id and name of each group, ordered by id, and whether the user is a direct member.

    A role that the token does not see has no name in the text, and is left out.
    """
    for role_id, name, is_direct in orjson.loads(text or "[]"):
        if name is not None:
            yield uuid.UUID(role_id), name, bool(is_direct)


class IsMember(Func):
    """Whether a user is in a group, directly or through groups within groups: `IsMember(group, user)`."""

    output_field = BooleanField()
    arity = 2

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, *args: object, **extra: object
    ) -> tuple[str, Any]:
        """Return the recursive test. It starts from the user's few groups instead of the group's many members."""
        group, user = self.source_expressions
        group_sql, group_parameters = compiler.compile(group)
        user_sql, user_parameters = compiler.compile(user)
        return (
            f"({group_sql} IN (WITH RECURSIVE held (role_id) AS ("  # noqa: S608 (compiled expressions alone)
            f"SELECT m.role_id FROM accounts_rolemembership m WHERE m.user_id = {user_sql} UNION "
            "SELECT m.role_id FROM held JOIN accounts_rolemembership m ON m.member_role_id = held.role_id "
            f"WHERE {_ROLE_IS_ACTIVE}) SELECT role_id FROM held))",
            [*group_parameters, *user_parameters],
        )
