"""What the verification of the history does not compare: each column of a tracked table, with its reason."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache

from django.db import models

DERIVED: Mapping[str, str] = {
    "*.name_key": "the name, as it is searched",
    "*.code_key": "the code, as it is searched",
    "items.Item.serial_number_key": "the serial number, as it is searched",
    "items.Item.location_key": "the place, as it is searched",
    "complaints.Complaint.trace_number_key": "the trace number, as it is searched",
    "accounts.User.user_name_key": "the user name, as names are compared",
    "accounts.User.user_name_look": "the user name, as it looks",
}
"""Columns that code computes from another column of the row."""

_EMPLOYEE = "it follows the employee, who is compared, without a change of its own"
_STAMP = "it says when, not by whom; the changes say both"
_WORKER = "what a worker notes while it works leaves no change"
_SECRET = "no change contains a secret, not even its digest"  # noqa: S105 (a reason)
_PERSON = "no change names it; the person is the author of the changes"

EXEMPT: Mapping[str, str] = {
    "*.revision": "it counts writes, for ETags",
    "*.path": "where a file is stored; `verify_files` compares the file with its SHA-256",
    "documents.Signer.idx": "the order in which the signers are shown",
    "materials.Material.reason_for_change": "the reason of the last change, which is proven",
    **dict.fromkeys(
        (
            f"{table}.{name}"
            for table in ("accounts.*", "reference.*", "sites.Site", "sites.EntityFolder", "employees.Course")
            for name in ("created", "last_modified")
        ),
        _STAMP,
    ),
    "complaints.UnitsSold.created": _STAMP,
    "complaints.UnitsSold.last_modified": _STAMP,
    "retention.RetentionPeriod.created": _STAMP,
    "retention.RetentionPeriod.last_modified": _STAMP,
    "webhooks.Subscription.created": _STAMP,
    "webhooks.Subscription.last_modified": _STAMP,
    "backoffice.SavedFilter.created": _STAMP,
    "accounts.User.given_name": _EMPLOYEE,
    "accounts.User.family_name": _EMPLOYEE,
    "accounts.User.honorific_prefix": _EMPLOYEE,
    "accounts.User.email": _EMPLOYEE,
    "accounts.User.recovery_address": _EMPLOYEE,
    "accounts.User.pending_address": _EMPLOYEE,
    "accounts.User.directory_attributes": _EMPLOYEE,
    "accounts.User.emails": _EMPLOYEE,
    "accounts.UserEmail.*": _EMPLOYEE,
    "accounts.User.password": _SECRET,
    "accounts.User.last_login": "a sign-in is a change of its own",
    "accounts.User.session_epoch": "it counts how often all sessions were ended",
    "accounts.Role.default_role": "default roles are made without a change",
    "accounts.Role.permissions": "a release sets those of the default roles without a change",
    "accounts.RoleMembership.display": "how a directory calls the member",
    "accounts.RoleMembership.directory": "no change names it; the directory is the author of the change",
    "accounts.*.digest": _SECRET,
    "accounts.*.last_used": "only the first use is a change",
    "accounts.ProvisioningToken.end_announced": _WORKER,
    "backoffice.ListColumns.user": _PERSON,
    "backoffice.ListColumns.listing": _PERSON,
    "reminders.Preference.user": _PERSON,
    "packs.Pack.permissions": _WORKER,
    **dict.fromkeys((f"packs.Pack.{name}" for name in ("status", "done", "total", "attempts", "problem")), _WORKER),
    **dict.fromkeys((f"packs.Pack.{name}" for name in ("left_out", "made")), _WORKER),
    "webhooks.Subscription.*secret*": _SECRET,
    "webhooks.Subscription.former_until": "until when the former secret signs too; no change contains that secret",
    **dict.fromkeys(
        (f"webhooks.Subscription.{name}" for name in ("position", "fail*", "next_attempt", "claim*", "delivered")),
        _WORKER,
    ),
}
"""Columns and lists that are not compared, and why; `*` stands for any text."""


@cache
def why_not_compared(model: type[models.Model], name: str) -> str:
    """Return why the verification does not compare a column or list of a model; empty if it does."""
    place = f"{model._meta.label}.{name}"
    return next((why for one in (DERIVED, EXEMPT) for key, why in one.items() if fnmatchcase(place, key)), "")
