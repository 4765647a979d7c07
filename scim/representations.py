"""Builds the documents of Users and Groups from rows, with a fixed number of queries for a whole list."""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any

import orjson
from django.db.models import F, OuterRef, Q, QuerySet, Subquery

from records.accounts.employee_facts import REMOVED_NAMES
from records.accounts.models import ExternalId, Role, RoleMembership, User, UserEmail
from records.accounts.models.users import printed_name
from records.history.sets import id_of
from records.history.statements import together
from records.operations.json_subqueries import rows_of
from records.operations.values import show_date_time
from scim.callers import Caller, Scope
from scim.nesting import GroupsOf, group_rows, groups_of
from scim.prepared import Keys, Selection, prepare, the_ids
from scim.projection import Projection
from scim.schemas import EMPLOYEE, ENTERPRISE, GROUP, LIST_RESPONSE, SITE, USER
from scim.sources import profile_prefix

STATE = "state"
"""The key under which an internal document stores whether the account is active, even if the dialect omits `active`."""

_SHOWN_IN_OTHER_FORM = ("name", "profileUrl", ENTERPRISE, REMOVED_NAMES)
"""Stored attributes that the document does not show in their stored form."""

USER_COLUMNS = (
    "pk",
    "user_name",
    "given_name",
    "family_name",
    "honorific_prefix",
    "display_name",
    "user_type",
    "preferred_language",
    "locale",
    "is_active",
    "directory_attributes",
    "revision",
    "created",
    "last_modified",
    "employee__position",
    "employee__code",
    "employee__nature_of_employment__name",
    "employee__entity_folder__name",
    "employee__reporting_to__user_id",
    "employee__reporting_to__user__user_name",
    "employee__reporting_to__user__given_name",
    "employee__reporting_to__user__family_name",
    "employee__reporting_to__user__display_name",
    "employee__reporting_to__user__home_site_id",
    "employee__reporting_to__user__removed",
)
GROUP_COLUMNS = (
    "pk",
    "name",
    "external_id",
    "directory_id",
    "site_id",
    "site__name",
    "revision",
    "created",
    "last_modified",
)

Representation = dict[str, Any]


def version_of(revision: int) -> str:
    """Return the entity tag of a revision."""
    return f'W/"{revision}"'


def display_of(row: Mapping[str, object], prefix: str = "") -> str:
    """Return an account's display name: its own, or else the given and family name, or else the user name."""
    names = (str(row[prefix + name]) for name in ("display_name", "given_name", "family_name", "user_name"))
    return printed_name(*names)


def formatted_name(prefix: str, given_name: str, family_name: str) -> str:
    """Return the full name for display."""
    return " ".join(part for part in (prefix, given_name, family_name) if part)


def profile_url(key: uuid.UUID) -> str:
    """Return the address of the employee's back-office page."""
    return f"{profile_prefix()}{key}/change/"


def user_documents(caller: Caller, keys: Keys, projection: Projection) -> list[Representation]:
    """Return the documents of the given users that the token sees, ordered by id if a selection of ids is given.

    One statement, of which the selection is a part. Attributes that the projection leaves out are not read;
    `Projection.apply` must still remove them.
    """
    scope = caller.scope
    extra_expressions = {name: make for name, make in _EXTRA_EXPRESSIONS.items() if projection.holds(name)}

    def users() -> QuerySet[User, tuple[Any, ...]]:
        rows = User.objects.seen_by(scope).filter(pk__in=the_ids())
        annotations = {f"read_{name}": make(scope) for name, make in extra_expressions.items()}
        return rows.annotate(**annotations).values_list(*USER_COLUMNS, *annotations)

    statement = prepare(f"users with {' '.join(extra_expressions)}", scope, users)
    value_rows = statement.convert_rows(statement.rows(keys))
    if isinstance(keys, Selection):
        value_rows.sort(key=itemgetter(0))
    documents = []
    for values in value_rows:
        row = dict(zip((*USER_COLUMNS, *extra_expressions), values, strict=True))
        emails = [_email(*parts) for parts in orjson.loads(row.get("emails") or "[]")]
        groups = _groups_of(caller, row["groups"]) if "groups" in row else None
        documents.append(user_document(caller, row, emails, row.get("externalId") or "", groups))
    return documents


_EXTRA_EXPRESSIONS: Mapping[str, Callable[[Scope], object]] = {
    "emails": lambda scope: rows_of(UserEmail, "user_id", ("value", "type", "display", "primary"), ("idx", "pk")),
    "externalId": lambda scope: Subquery(
        ExternalId.objects.filter(directory_id=scope.directory_id, user_id=OuterRef("pk")).values("value")
    ),
    "groups": lambda scope: GroupsOf(scope, F("pk")),
}
"""The expressions of attributes that are not in the row of an account or of its employee."""


def user_document_of(caller: Caller, user: User, external_id: str, projection: Projection) -> Representation:
    """Return the document of a loaded account with its loaded addresses and employee; one query, for its groups."""
    row = {column: _at(user, column) for column in USER_COLUMNS}
    emails = [_email(email.value, email.type, email.display, email.primary) for email in user.emails.all()]
    groups = None
    if projection.holds("groups"):
        groups = _groups_of(caller, together([groups_of(user.pk, caller.scope)])[0][0][0])
    return user_document(caller, row, emails, external_id, groups)


def _at(row: User | Role, column: str) -> Any:
    """Return the value of a column of the row or of a related row; None if there is no related row."""
    value: Any = row
    for name in column.split("__"):
        value = getattr(value, name, None)
    return value


def _groups_of(caller: Caller, text: str | None) -> list[Representation]:
    """Return the groups that a user is in, directly or through other groups, from the JSON text of `GroupsOf`."""
    return [
        {
            "value": str(role_id),
            "$ref": f"{caller.base}/Groups/{role_id}",
            "display": name,
            "type": "direct" if is_direct else "indirect",
        }
        for role_id, name, is_direct in group_rows(text)
    ]


def _email(value: str, type_: str, display: str, primary: object) -> Representation:
    parts = {"value": value, "type": type_, "display": display}
    return {**{name: part for name, part in parts.items() if part}, "primary": bool(primary)}


def user_document(
    caller: Caller,
    row: Mapping[str, Any],
    emails: list[Representation],
    external_id: str,
    groups: list[Representation] | None,
) -> Representation:
    """Return a User's document; it has no `groups` if they were not read."""
    key = row["pk"]
    attributes: Representation = row["directory_attributes"]
    prefix, given_name, family_name = row["honorific_prefix"], row["given_name"], row["family_name"]
    name = {
        "familyName": family_name,
        "givenName": given_name,
        "honorificPrefix": prefix,
        "formatted": formatted_name(prefix, given_name, family_name),
        **attributes.get("name", {}),
    }
    employment = {
        "position": row["employee__position"],
        "natureOfEmployment": row["employee__nature_of_employment__name"],
        "folder": row["employee__entity_folder__name"] or "",
    }
    enterprise = _enterprise(caller, row, attributes.get(ENTERPRISE, {}))
    document: Representation = {
        "schemas": [USER, EMPLOYEE, *([ENTERPRISE] if enterprise else [])],
        "id": str(key),
        "userName": row["user_name"],
        "name": name,
        "displayName": display_of(row),
        "profileUrl": profile_url(key),
        "userType": row["user_type"],
        "preferredLanguage": row["preferred_language"],
        "locale": row["locale"],
        "active": row["is_active"],
        "emails": emails,
        **{part: value for part, value in attributes.items() if part not in _SHOWN_IN_OTHER_FORM},
        **({} if groups is None else {"groups": groups}),
        EMPLOYEE: employment,
    }
    if enterprise:
        document[ENTERPRISE] = enterprise
    document["externalId"] = external_id
    document["meta"] = _meta(row, f"{caller.base}/Users/{key}", "User")
    return _without_empty(document, attributes) if caller.reads_rfc else document


_ALWAYS_PRESENT = ("userType", "preferredLanguage", "locale", "externalId")
"""Attributes that the documented shape always has, as empty text if there is no value (DECISIONS 7.3)."""


def _without_empty(document: Representation, attributes: Representation) -> Representation:
    """Leave out empty and removed attributes, because the RFC 7643 shape has no empty text (RFC 7643, section 2.5)."""
    for part in _ALWAYS_PRESENT:
        if not document[part]:
            del document[part]
    for name in ("name", EMPLOYEE):
        document[name] = {part: value for part, value in document[name].items() if value}
    for path in attributes.get(REMOVED_NAMES, ()):
        urn, _, part = path.rpartition(":")
        (document.get(urn, {}) if urn else document).pop(part, None)
    if not document[EMPLOYEE]:
        del document[EMPLOYEE]
        document["schemas"].remove(EMPLOYEE)
    return document


def _enterprise(caller: Caller, row: Mapping[str, object], attributes: Representation) -> Representation:
    enterprise: Representation = {"employeeNumber": row["employee__code"]} if row["employee__code"] else {}
    enterprise |= attributes
    manager = row["employee__reporting_to__user_id"]
    manager_site_id = row["employee__reporting_to__user__home_site_id"]
    if (
        "manager" not in enterprise
        and manager
        and manager_site_id in caller.site_ids
        and row["employee__reporting_to__user__removed"] is None
    ):
        enterprise["manager"] = {
            "value": str(manager),
            "$ref": f"{caller.base}/Users/{manager}",
            "displayName": display_of(row, "employee__reporting_to__user__"),
        }
    return enterprise


def shows_names_of_others(document: Representation) -> bool:
    """Return whether a document shows names of people that can change without its version: members, or a manager."""
    return bool(document.get("members")) or "manager" in document.get(ENTERPRISE, {})


def _meta(row: Mapping[str, Any], location: str, kind: str) -> Representation:
    return {
        "resourceType": kind,
        "created": show_date_time(row["created"]),
        "lastModified": show_date_time(row["last_modified"]),
        "location": location,
        "version": version_of(row["revision"]),
    }


def group_documents(caller: Caller, keys: Keys, projection: Projection) -> list[Representation]:
    """Return the documents of the given roles that the token sees: a statement for the rows and one for members.

    They are ordered by id if a selection of ids is given. Members are not read if the projection leaves them out.
    """
    scope = caller.scope
    groups = prepare(
        "groups", scope, lambda: Role.objects.seen_by(scope).filter(pk__in=the_ids()).values_list(*GROUP_COLUMNS)
    )
    value_rows = groups.convert_rows(groups.rows(keys))
    if isinstance(keys, Selection):
        value_rows.sort(key=itemgetter(0))
    rows = [dict(zip(GROUP_COLUMNS, row, strict=True)) for row in value_rows]
    members: dict[uuid.UUID, list[Representation]] | None = None
    if projection.holds("members"):
        members = members_of(caller, [row["pk"] for row in rows]) if rows else {}
    return [group_document(caller, row, None if members is None else members.get(row["pk"], [])) for row in rows]


def group_document_of(caller: Caller, role: Role, projection: Projection) -> Representation:
    """Return the document of a loaded role; one query for members unless the projection leaves them out."""
    sites = {site.pk: site for site in (caller.directory.home_site, *caller.directory.seen_sites)}
    role.site = sites[role.site_id]
    row = {column: _at(role, column) for column in GROUP_COLUMNS}
    members = members_of(caller, [role.pk]).get(role.pk, []) if projection.holds("members") else None
    return group_document(caller, row, members)


def group_document(caller: Caller, row: Mapping[str, object], members: list[Representation] | None) -> Representation:
    """Return a Group's document; it has no `members` if they were not read."""
    document: Representation = {
        "schemas": [GROUP, SITE],
        "id": str(row["pk"]),
        **({} if caller.reads_rfc and not row["name"] else {"displayName": row["name"]}),
        **({} if members is None else {"members": members}),
        SITE: {"value": str(row["site_id"]), "displayName": row["site__name"]},
    }
    if row["external_id"] and row["directory_id"] == caller.directory.pk:
        document["externalId"] = row["external_id"]
    document["meta"] = _meta(row, f"{caller.base}/Groups/{row['pk']}", "Group")
    return document


MEMBER_COLUMNS = (
    "role_id",
    "user_id",
    "member_role_id",
    "display",
    "user__user_name",
    "user__given_name",
    "user__family_name",
    "user__display_name",
    "member_role__name",
)


def members_of(
    caller: Caller, roles: Iterable[uuid.UUID], member_ids: set[uuid.UUID] | None = None
) -> dict[uuid.UUID, list[Representation]]:
    """Return the members of each role that the token sees, oldest first; one query. `member_ids` limits them."""
    members_by_role: dict[uuid.UUID, list[Representation]] = defaultdict(list)
    scope = caller.scope

    def rows() -> QuerySet[RoleMembership, Any]:
        members = RoleMembership.objects.seen_by(scope).filter(role_id__in=the_ids()).order_by("created", "pk")
        return members.values_list(*MEMBER_COLUMNS)

    def rows_of_ids() -> QuerySet[RoleMembership, Any]:
        return rows().filter(Q(user_id__in=the_ids()) | Q(member_role_id__in=the_ids()))

    if member_ids is None:
        statement = prepare("members", scope, rows).about(roles)
    else:
        statement = prepare("members among ids", scope, rows_of_ids).about(roles, member_ids, member_ids)
    users, groups = f"{caller.base}/Users/", f"{caller.base}/Groups/"
    for (
        role_id,
        user_id,
        member_role_id,
        display,
        user_name,
        given_name,
        family_name,
        display_name,
        role_name,
    ) in together([statement])[0]:
        if user_id:
            display = display or printed_name(display_name, given_name, family_name, user_name)
            key = str(id_of(user_id))
            member = {"value": key, "$ref": f"{users}{key}", "display": display, "type": "User"}
        else:
            key = str(id_of(member_role_id))
            member = {"value": key, "$ref": f"{groups}{key}", "display": display or role_name, "type": "Group"}
        members_by_role[id_of(role_id)].append(member)
    return members_by_role


def list_response(documents: list[Representation], total: int, start_index: int) -> Representation:
    """Return a ListResponse."""
    return {
        "schemas": [LIST_RESPONSE],
        "totalResults": total,
        "startIndex": start_index,
        "itemsPerPage": len(documents),
        "Resources": documents,
    }
