"""Who sees and changes what in the back-office: every check asks access.may, for the object's own site."""

import uuid
from collections.abc import Collection, Sequence
from functools import cache, cached_property
from typing import Any, ClassVar

from django import forms
from django.contrib.admin import ModelAdmin
from django.contrib.admin.utils import unquote
from django.contrib.auth import get_permission_codename
from django.db import models
from django.http import Http404, HttpRequest
from django.template.response import TemplateResponse
from django.urls import URLPattern, get_script_prefix, path, reverse
from django.utils.translation import gettext

from records.accounts import access
from records.accounts.access import asking
from records.backoffice.about import existing_for, url_below
from records.backoffice.current import current_site, user_of
from records.backoffice.lists import UnreadableListError
from records.backoffice.responses import page_response
from records.sites.hidden import hideable_references, hides, revealing_fields, without_hidden
from records.sites.models import Site, permission_on
from records.sites.text import read_uuid

Pages = Sequence[tuple[str, str, str]]
"""Pages of an admin: the path of each, the method that answers, and the name of the page."""
_NO_ID = uuid.UUID(int=0)


@cache
def _around_id(name: str, _prefix: str) -> Sequence[str]:
    """Return the parts of a URL before and after the Id, for a page of single records."""
    return reverse(name, args=(_NO_ID,)).split(str(_NO_ID))


class SitePermissions(ModelAdmin):  # type: ignore[type-arg]
    """The permission checks of a ModelAdmin, per site. Nothing is ever deleted."""

    site_field: str | None = "site"
    """The foreign key to the record's site; None for records that all sites share."""
    own_pages: ClassVar[Pages] = ()
    """The pages that a class adds to Django's."""
    private_fields: ClassVar[tuple[str, ...]] = ()
    private_permission: ClassVar[str] = ""
    """The permission without which users neither see nor set the private fields."""
    opens_reading = False
    """Whether a record opens with its reading page, instead of with its form."""

    def get_urls(self) -> list[URLPattern]:
        """Return the admin's URLs, preceded by those of the pages that its classes add."""
        pages = [page for cls in type(self).__mro__ for page in vars(cls).get("own_pages", ())]
        view = self.admin_site.admin_view
        patterns = [
            path(below, view(getattr(self, method)), name=self.page_name(name)) for below, method, name in pages
        ]
        return [*patterns, *super().get_urls()]

    def page_name(self, name: str) -> str:
        """Return the name of a page in Django's URLs, such as `items_item_changelist` for the list of items."""
        return f"{self.opts.app_label}_{self.opts.model_name}_{name}"

    def url_of(self, name: str, *args: object) -> str:
        """Return the URL of a page of the model, such as `changelist`."""
        full_name = f"admin:{self.page_name(name)}"
        return reverse(full_name, args=args) if args else url_below(get_script_prefix(), full_name)

    def page_of(self, key: object) -> str:
        """Return the URL of the page that a record opens with."""
        name = "read" if self.opens_reading else "change"
        if not isinstance(key, uuid.UUID):
            return self.url_of(name, key)
        before, after = _around_id(f"admin:{self.page_name(name)}", get_script_prefix())
        return f"{before}{key}{after}"

    def permission(self, action: str) -> str:
        """Return the full name of the model's permission, such as `employees.change_employee`."""
        return f"{self.opts.app_label}.{get_permission_codename(action, self.opts)}"

    def site_id_of(self, record: models.Model) -> uuid.UUID | None:
        """Return the site that a record belongs to."""
        return getattr(record, f"{self.site_field}_id") if self.site_field else None

    def may(self, request: HttpRequest, action: str, record: Any = None) -> bool:
        """Return whether the user may do this to the record; without a record, at the current site."""
        return access.may(request.user, self._site_id(request, record), self.permission(action))

    def _site_id(self, request: HttpRequest, record: Any) -> uuid.UUID | None:
        """Return the site of the record; without a record, the current one if the kind belongs to sites."""
        if record is not None:
            return self.site_id_of(record)
        site = current_site(request) if self.site_field else None
        return site.pk if site is not None else None

    def hidden_fields(self, request: HttpRequest, record: Any = None) -> tuple[str, ...]:
        """Return the private fields of the record that this user may neither see nor set."""
        if not self.private_fields or access.may(request.user, self._site_id(request, record), self.private_permission):
            return ()
        return self.private_fields

    def sites_where(self, request: HttpRequest, *any_of: str) -> list[uuid.UUID]:
        """Return the sites at which the user may do one of these actions."""
        return access.sites_where(request.user, *map(self.permission, any_of))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> Any:
        """Show the list, or report which filters of the URL cannot be read."""
        try:
            return super().changelist_view(request, {**self.list_context(request), **(extra_context or {})})
        except UnreadableListError as error:
            return self.unreadable(request, error)

    def list_context(self, request: HttpRequest) -> dict[str, object]:
        """Return what the list shows besides Django's context; a class adds to what its bases return."""
        return {}

    def unreadable(self, request: HttpRequest, error: UnreadableListError) -> TemplateResponse:
        """Report which filters of a URL cannot be read, with a link to the whole list."""
        return self.page_response(
            request,
            "backoffice/unreadable.html",
            gettext("This address cannot be understood"),
            http_status=400,
            sentence=str(error),
            back=self.url_of("changelist"),
        )

    def page_response(self, request: HttpRequest, template: str, title: object, /, **context: Any) -> TemplateResponse:
        """Return a page of the model's with its title; `context` is what its own template shows."""
        return page_response(request, template, title, opts=self.opts, **context)

    def has_view_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """Return whether the user may see the record, or the list of the current site."""
        return self.may(request, "view", obj) or self.may(request, "change", obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may add at the current site."""
        return self.may(request, "add")

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """Return whether the user may change the record; an archived one must be restored first."""
        return self.may(request, "change", obj) and not getattr(obj, "is_archived", False)

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """Return False: records are archived, never deleted."""
        return False

    def has_archive_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """Return whether the user may archive and restore the record."""
        return self.may(request, "archive", obj)

    def has_history_permission(self, request: HttpRequest, obj: models.Model) -> bool:
        """Return whether the user may read the record's history (Managers and above).

        If some records of the kind are hidden from the user, the whole history of the kind is.
        """
        may = asking(request.user, self.site_id_of(obj))
        # What was once hidden stays in the history.
        return may("history.view_change") and not hides(self.model, may)

    def at_site(self, rows: models.QuerySet[Any], site: Site | None) -> models.QuerySet[Any]:
        """Return the rows that the list shows for the site."""
        if not self.site_field:
            return rows
        return rows.filter(**{self.site_field: site}) if site is not None else rows.none()

    def lookup_allowed(self, lookup: str, value: object, request: HttpRequest | None = None) -> bool:
        """Return whether a query parameter may filter the list: references, dates and the list's filters may.

        Text columns can be searched but not filtered by, and hidden ones can be neither searched nor filtered by.
        """
        filters = self.list_filter
        name = lookup.split("__")[0]
        own_parameters = {getattr(entry, "parameter_name", None) for entry in filters}
        if lookup in own_parameters or name not in {field.name for field in self.opts.get_fields(include_hidden=True)}:
            # The parameter of one of our filters; an unknown parameter is refused later.
            return True
        hidden_fields: Collection[str] = self.hidden_fields(request) if request is not None else ()
        if lookup.endswith("__isnull") and request is not None and self.site_field:
            site = current_site(request)
            hidden_fields = {
                *hidden_fields,
                *revealing_fields(self.model, asking(request.user, site.pk if site else None)),
            }
        field_names = {
            field.name
            for field in self.opts.concrete_fields
            if field.is_relation or isinstance(field, models.DateTimeField | models.BooleanField)
        }
        filter_fields = {
            entry if isinstance(entry, str) else entry[0] for entry in filters if isinstance(entry, str | tuple)
        }
        return (
            name not in hidden_fields
            and lookup.count("__") < 3
            and self._ends_here(lookup)
            and name in field_names | filter_fields
        )

    def _ends_here(self, lookup: str) -> bool:
        """Return whether the lookup compares the model's own column, not one of a related record."""
        second = lookup.split("__")[1:2]
        field = self.opts.get_field(lookup.split("__")[0])
        return not field.is_relation or not second or second[0] in ("id", "exact", "in", "isnull")

    @property
    def media(self) -> forms.Media:
        """Return no scripts: every page has our own few scripts."""
        return forms.Media()

    def log_addition(self, request: HttpRequest, obj: models.Model, message: object) -> Any:
        """Write nothing: the history records it."""

    def log_change(self, request: HttpRequest, obj: models.Model, message: object) -> Any:
        """Write nothing: the history records it."""

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        """Return the records of all sites at which the user may see them."""
        rows: models.QuerySet[Any] = super().get_queryset(request)
        if not self.site_field:
            return rows
        sites = self.sites_where(request, "view", "change")
        return existing_for(user_of(request), rows.filter(**{f"{self.site_field}__in": sites}), sites)

    def visible_rows(
        self, request: HttpRequest, model: type[models.Model], site_id: uuid.UUID | None
    ) -> models.QuerySet[Any] | None:
        """Return the records of a kind at a site that the user may see, as the pages of the kind do.

        Without a site, as for an entry that all sites share, these are the records of all sites of the user. None if
        the kind has no pages, or if the user may see it nowhere.
        """
        user = user_of(request)
        sites = [site_id] if site_id is not None else access.sites_where(user)
        open_at = [site for site in sites if access.may(user, site, permission_on(model))]
        if not open_at or not self.admin_site.is_registered(model):
            return None
        rows: models.QuerySet[Any] = self.admin_site.get_model_admin(model).get_queryset(request)
        return rows.filter(site_id__in=open_at)

    def get_object(self, request: HttpRequest, object_id: str, from_field: object = None, **annotations: object) -> Any:
        """Return a record that the user may see, with the records that it refers to and columns of `also`, or None."""
        rows, key = (
            self.get_queryset(request).select_related(*self.foreign_keys).annotate(**annotations),
            read_uuid(object_id),
        )
        try:
            return rows.get(pk=key) if key else None
        except self.model.DoesNotExist:
            return None

    def hide_targets(self, request: HttpRequest, record: models.Model) -> None:
        """Clear a loaded record's references to records that do not exist for the user; do not save the record then."""
        if hideable_references(type(record)):
            user = user_of(request)
            without_hidden(user.pk, asking(user, getattr(record, "site_id", None)), [record])

    @cached_property
    def foreign_keys(self) -> list[str]:
        """Return the names of the model's foreign keys."""
        return [field.name for field in self.opts.concrete_fields if field.is_relation]

    def record_or_404(self, request: HttpRequest, object_id: str, **annotations: object) -> Any:
        """Return a record that the user may see, with the columns of `also`.

        Raises Http404 for all others, whether or not they exist.
        """
        record = self.get_object(request, unquote(object_id), **annotations)
        if record is None or not self.has_view_permission(request, record):
            raise Http404(gettext("There is no such %(kind)s.") % {"kind": self.opts.verbose_name})
        return record
