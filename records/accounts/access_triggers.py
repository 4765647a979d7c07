"""The triggers that mark each change of access, on both databases; see `AccessChange` for what the marks are for.

They are created after each run of the migrations, because SQLite drops them when Django rebuilds a table.
"""

# ruff: noqa: S608 (every statement is put together from the texts of this module)
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connections

from records.accounts.directories import DIRECTORY

PREFIX = "access_change_"
_EVERY_SITE = "SELECT id FROM sites_site"
_INSERT = "INSERT INTO accounts_accesschange (owner_id, stamp, at)"
_STAMP = {
    "postgresql": "(random() * 1099511627775)::bigint + 1, statement_timestamp()",
    "sqlite": "abs(random() % 1099511627776) + 1, strftime('%Y-%m-%d %H:%M:%f', 'now')",
}
"""A random stamp of 40 bits (millions of them can be added up without overflow), and the time."""


@dataclass(frozen=True, slots=True)
class AccessTrigger:
    """A table, the events of its rows that change somebody's access, and whose access they change.

    `owners` is a query that returns the ids of the users or sites for a row `{row}`; `only` is a condition on the row.
    An update counts only if the value of one of `columns` changes.
    """

    table: str
    owners: str
    columns: Sequence[str]
    events: Sequence[str] = ("UPDATE", "DELETE")
    only: str = ""


_OWN_ID = "SELECT {row}.id AS id"
_USERS = "SELECT {row}.user_id AS id"
_SERVICE_ACCOUNT = "SELECT d.service_account_id AS id FROM accounts_directory d WHERE d.id = {row}.directory_id"
_ANY_EVENT = ("INSERT", "UPDATE", "DELETE")

TRIGGERS = (
    AccessTrigger(
        "accounts_user",
        _OWN_ID,
        ("is_active", "is_superuser", "user_name", "display_name", "given_name", "family_name"),
        _ANY_EVENT,
    ),
    AccessTrigger("sites_site", _OWN_ID, ("is_archived", "name")),
    AccessTrigger("accounts_subscriptionkey", _USERS, ("digest", "name", "expires", "revoked", "user_id", "site_id")),
    AccessTrigger("accounts_oauthclient", _USERS, ("name", "expires", "revoked", "user_id")),
    AccessTrigger(
        "accounts_accesstoken",
        "SELECT o.user_id AS id FROM accounts_oauthclient o WHERE o.id = {row}.client_id",
        ("digest", "expires", "revoked", "scopes", "client_id"),
    ),
    AccessTrigger(
        "accounts_provisioningtoken",
        _SERVICE_ACCOUNT,
        ("digest", "name", "expires", "revoked", "dialect", "read_only", "dry_run", "addresses", "directory_id"),
    ),
    AccessTrigger(
        "accounts_directory",
        "SELECT {row}.service_account_id AS id",
        (*DIRECTORY[1:], "is_archived"),
    ),
    AccessTrigger("accounts_directory_sites", _SERVICE_ACCOUNT, ("directory_id", "site_id"), _ANY_EVENT),
    AccessTrigger("accounts_rolemembership", _USERS, ("role_id", "user_id"), _ANY_EVENT, "{row}.user_id IS NOT NULL"),
    # Nesting a role or archiving one can affect the members of roles at any site.
    AccessTrigger(
        "accounts_rolemembership",
        _EVERY_SITE,
        ("role_id", "member_role_id"),
        _ANY_EVENT,
        "{row}.member_role_id IS NOT NULL",
    ),
    AccessTrigger("accounts_role", _EVERY_SITE, ("is_archived", "site_id")),
    AccessTrigger(
        "accounts_role_permissions",
        "SELECT r.site_id AS id FROM accounts_role r WHERE r.id = {row}.role_id",
        ("role_id", "permission_id"),
        _ANY_EVENT,
    ),
)


def install(using: str) -> None:
    """Create the triggers in a migrated database; does nothing if they are up to date."""
    connection = connections[using]
    vendor = connection.vendor
    triggers = {
        f"{PREFIX}{number}_{event.lower()}": (trigger, event)
        for number, trigger in enumerate(TRIGGERS)
        for event in trigger.events
    }
    texts = {name: _TEXTS[vendor](name, *columns) for name, columns in triggers.items()}
    with connection.cursor() as cursor:
        if "accounts_accesschange" not in connection.introspection.table_names(cursor):
            return
        cursor.execute(_PRESENT[vendor])
        present = cursor.fetchall()
        if sorted((name, text) for name, _, text in present) == sorted(texts.items()):
            return
        # Triggers of an earlier release are removed, too: a name may have been that of another table's trigger.
        for name, table, _ in present:
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}" + (f" ON {table}" if vendor == "postgresql" else ""))
        for name, (trigger, _) in triggers.items():
            cursor.execute(texts[name])
            if vendor == "postgresql":
                cursor.execute(f"COMMENT ON TRIGGER {name} ON {trigger.table} IS {_quote(texts[name])}")


_PRESENT = {
    "postgresql": "SELECT tgname, tgrelid::regclass::text, COALESCE(obj_description(oid, 'pg_trigger'), '') "
    f"FROM pg_trigger WHERE tgname ^@ '{PREFIX}'",
    "sqlite": f"SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger' AND name GLOB '{PREFIX}*'",
}
"""The query of the existing triggers, each with its table and with the text that it was created from."""


def _of_sqlite(name: str, trigger: AccessTrigger, event: str) -> str:
    return (
        f"CREATE TRIGGER {name} AFTER {event} ON {trigger.table} FOR EACH ROW WHEN {_when(trigger, event, 'IS NOT')} "
        f"BEGIN {_INSERT} SELECT o.id, {_STAMP['sqlite']} FROM ({_owners(trigger, event)}) o "
        f"WHERE o.id IS NOT NULL; END"
    )


def _of_postgresql(name: str, trigger: AccessTrigger, event: str) -> str:
    """Return the statements for a function and its trigger: once per row for updates, otherwise once per statement.

    A role can get ten thousand members in one statement.
    """
    owners, clause = _owners(trigger, event), f"FOR EACH ROW WHEN ({_when(trigger, event, 'IS DISTINCT FROM')})"
    if event != "UPDATE":
        only = trigger.only.format(row="changed") or "TRUE"
        owners = (
            f"SELECT DISTINCT l.id FROM changed CROSS JOIN LATERAL ({trigger.owners.format(row='changed')}) l "
            f"WHERE {only}"
        )
        clause = f"REFERENCING {'NEW' if event == 'INSERT' else 'OLD'} TABLE AS changed FOR EACH STATEMENT"
    insert = f"{_INSERT} SELECT o.id, {_STAMP['postgresql']} FROM ({owners}) o WHERE o.id IS NOT NULL"
    return (
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS "
        f"{_quote(f'BEGIN {insert}; RETURN NULL; END')}; "
        f"CREATE TRIGGER {name} AFTER {event} ON {trigger.table} {clause} EXECUTE FUNCTION {name}()"
    )


_TEXTS = {"postgresql": _of_postgresql, "sqlite": _of_sqlite}


def _rows(event: str) -> Sequence[str]:
    return {"INSERT": ("NEW",), "UPDATE": ("OLD", "NEW"), "DELETE": ("OLD",)}[event]


def _owners(trigger: AccessTrigger, event: str) -> str:
    return " UNION ".join(trigger.owners.format(row=row) for row in _rows(event))


def _when(trigger: AccessTrigger, event: str, differs: str) -> str:
    """Return the condition on the row; for an update it also requires that one of the columns changes."""
    only = " OR ".join(trigger.only.format(row=row) for row in _rows(event)) if trigger.only else "1 = 1"
    changes = " OR ".join(f"OLD.{column} {differs} NEW.{column}" for column in trigger.columns)
    return f"({only}) AND ({changes})" if event == "UPDATE" else only


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
