"""The choices of a reference field: entries and records of the record's site, searched while somebody types."""

import uuid
from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.admin.exceptions import NotRegistered
from django.core.exceptions import FieldDoesNotExist, PermissionDenied
from django.db import models
from django.http import Http404, HttpRequest, JsonResponse
from django.urls import reverse
from django.utils.http import urlencode

from records.accounts import access
from records.accounts.models import User
from records.backoffice.current import user_of
from records.backoffice.fields import as_number
from records.backoffice.lists import search
from records.reference.lists import starting_with
from records.reference.models import ReferenceEntry
from records.sites.models import EntityFolder, permission_on
from records.sites.targets import valid_at
from records.sites.text import read_uuid

PAGE = 30
NO_SITE = uuid.UUID(int=0)


def choices_at(field: Any, site_id: uuid.UUID | None) -> models.QuerySet[Any]:
    """Return what a foreign key or list of a record of the site may newly refer to, without archived entries.

    If there is no site, as on the page of an account, these are the shared lists and all active accounts.
    """
    if field.related_model is User and site_id is None:
        return User.objects.filter(is_active=True)
    return valid_at(field.related_model, site_id or NO_SITE, field.model)


def narrow(admin_site: AdminSite, rows: models.QuerySet[Any], text: str) -> models.QuerySet[Any]:
    """Return the choices that match the typed text, in a stable order.

    If the model has folded keys, these are the rows whose name or code begins with the text: an index finds them,
    however many rows there are.
    """
    model: Any = rows.model
    if issubclass(model, ReferenceEntry) and not text:
        return rows.order_by("idx", "name", "id")
    if _is_keyed(model):
        return starting_with(rows, text) if text else rows.order_by("name_key", "code_key", "id")
    if model is User:
        return search(rows, ("user_name", "given_name", "family_name", "display_name"), text).order_by(
            "user_name", "id"
        )
    if model is EntityFolder:
        rows = rows.select_related("parent")
    names = getattr(_admin_of(admin_site, model), "search_fields", ()) or ("name",)
    return search(rows, names, text).order_by(*(model._meta.ordering or ("id",)))


def containing(rows: models.QuerySet[Any], text: str) -> models.QuerySet[Any]:
    """Return the choices that contain every word of the text, for a text with which no choice begins."""
    if not _is_keyed(rows.model):
        return rows.none()
    return search(rows, ("name_key", "code_key"), text).order_by("name_key", "code_key", "id")


def _is_keyed(model: type[models.Model]) -> bool:
    return {"name_key", "code_key"} <= {column.name for column in model._meta.concrete_fields}


def _admin_of(admin_site: AdminSite, model: type[models.Model]) -> Any:
    try:
        return admin_site.get_model_admin(model)
    except NotRegistered:
        return None


def choose_url(field: Any, site_id: uuid.UUID | None, **parameters: str) -> str:
    """Return the URL at which a page searches choices for a field of a record of the site."""
    query = urlencode(
        {"field": f"{field.model._meta.label_lower}.{field.name}", "site": str(site_id or ""), **parameters}
    )
    return f"{reverse('admin:choose')}?{query}"


def choose(request: HttpRequest, admin_site: AdminSite) -> JsonResponse:
    """Answer one page of choices: `{"results": [{"id", "text"}], "more": bool}`; a fixed number of queries.

    Only for fields of forms that the user may fill in at that site; everything else is refused in the same way.
    """
    site_id = read_uuid(request.GET.get("site", ""))
    field, owner = _field(admin_site, request.GET.get("field", ""))
    user = user_of(request)
    permissions = [permission_on(owner, action) for action in ("add", "change", "view")]
    if not access.may(user, site_id, *permissions):
        raise PermissionDenied
    start = PAGE * ((as_number(request.GET.get("page", "1"), 4) or 1) - 1)
    text = request.GET.get("q", "")[:200].replace("\x00", "")
    field_choices = getattr(_admin_of(admin_site, owner), "field_choices", None)
    choices = field_choices(request, field, site_id) if field_choices is not None else choices_at(field, site_id)
    part = slice(start, start + PAGE + 1)
    rows = list(narrow(admin_site, choices, text)[part]) or (list(containing(choices, text)[part]) if text else [])
    results = [{"id": str(row.pk), "text": describe(row)} for row in rows]
    return JsonResponse({"results": results[:PAGE], "more": len(results) > PAGE})


def describe(row: models.Model) -> str:
    """Return the printed form of a choice: its name with its code, or a folder with its parent folders."""
    if isinstance(row, EntityFolder) and row.parent is not None:
        return f"{row.parent} / {row}"
    code = getattr(row, "code", "")
    return f"{row} ({code})" if code else str(row)


def _field(admin_site: AdminSite, label: str) -> tuple[Any, type[models.Model]]:
    """Return the named field and the model whose form contains it; a child row is in its record's form."""
    from django.apps import apps

    try:
        app, model_name, name = label.split(".")
        model = apps.get_model(app, model_name)
        field = model._meta.get_field(name)
    except (ValueError, LookupError, FieldDoesNotExist):
        raise Http404 from None
    if not getattr(field, "related_model", None) or not getattr(field, "concrete", False) or not field.editable:
        raise Http404
    for owner, model_admin in admin_site._registry.items():
        row_models = (*(inline.model for inline in model_admin.inlines), *getattr(model_admin, "chosen_on", ()))
        if owner is model or model in row_models:
            return field, owner
    raise Http404
