"""Addresses of back-office pages that the start page and the search link to, empty where a page does not exist."""

from typing import Any

from django.contrib.admin import AdminSite
from django.db.models import Model
from django.urls import reverse
from django.utils.http import urlencode

from records.backoffice.reading import reads_first


def page_of(admin_site: AdminSite, model: type[Model], key: Any) -> str:
    """Return the address of the page that a record opens with."""
    return _address(admin_site, model, "read" if reads_first(admin_site, model) else "change", key)


def list_of(admin_site: AdminSite, model: type[Model], **query: str) -> str:
    """Return the address of the model's list under the filters."""
    address = _address(admin_site, model, "changelist")
    return f"{address}?{urlencode(query)}" if address and query else address


def form_for_new(admin_site: AdminSite, model: type[Model]) -> str:
    """Return the address of the form for a new record."""
    return _address(admin_site, model, "add")


def _address(admin_site: AdminSite, model: type[Model], page: str, *args: Any) -> str:
    if not admin_site.is_registered(model):
        return ""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)
