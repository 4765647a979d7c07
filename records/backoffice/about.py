"""Links to the record that another one is about, and whether somebody may see it."""

from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import capfirst

from records.accounts import access
from records.accounts.models import User
from records.sites.models import SiteRecord


def may_see(user: User, record: SiteRecord) -> bool:
    """Return whether the user may see records of this kind at the record's site."""
    options = record._meta
    return access.may(user, record.site_id, f"{options.app_label}.view_{options.model_name}")


def address_of(record: Any) -> str:
    """Return the address of the record's page; empty where its kind has none."""
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
