"""Links to the record that another record is about, and whether a user may see it."""

from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import capfirst

from records.accounts import access
from records.accounts.models import User
from records.sites.about import exists_for
from records.sites.models import SiteRecord
from records.sites.targets import seen_by


def may_see(user: User, record: SiteRecord) -> bool:
    """Return whether the record exists for the user; one query for a kind with hidden records."""
    options = record._meta

    def may(permission: str) -> bool:
        return access.may(user, record.site_id, permission)

    return may(f"{options.app_label}.view_{options.model_name}") and exists_for(record, user.pk, may)


def hide_targets(user: User, record: Any) -> None:
    """Clear a loaded record's references to records that do not exist for the user; do not save the record then."""
    site_id = getattr(record, "site_id", None)

    def may(permission: str) -> bool:
        return access.may(user, site_id, permission)

    for field in (*record._meta.concrete_fields, *record._meta.many_to_many):
        needed = getattr(field.related_model, "SEEN_WHOLE_WITH", "")
        if not needed or may(needed):
            continue
        if field.many_to_many:
            shown = seen_by(user.pk, may, getattr(record, field.name).all())
            record.__dict__.setdefault("_prefetched_objects_cache", {})[field.name] = shown
        elif (target := getattr(record, field.name)) is not None and not exists_for(target, user.pk, may):
            setattr(record, field.name, None)


def address_of(record: Any) -> str:
    """Return the URL of the record's page; empty if its kind has no page."""
    options = record._meta
    if not admin.site.is_registered(type(record)):
        return ""
    page = "read" if getattr(admin.site._registry[type(record)], "opens_reading", False) else "change"
    return reverse(f"admin:{options.app_label}_{options.model_name}_{page}", args=(record.pk,))


def link_to(record: SiteRecord) -> Any:
    """Return a link to the record's page, with its kind and name."""
    kind, number = capfirst(str(record._meta.verbose_name)), record.site_sequence_id
    name = str(record) if str(record).startswith(kind) else f"{kind} {number or ''}: {record}"
    return format_html('<a href="{}">{}</a>', address_of(record), name)
