"""The back-office pages of materials."""

import uuid
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from materials import actions
from materials.models import Material
from records.accounts import access
from records.backoffice.choice_filters import ArchivedFilter
from records.backoffice.current import author_of, current_site, user_of
from records.backoffice.filter_bar import ReferenceFilter
from records.backoffice.records import RecordAdmin
from records.reference.models import MaterialCategory
from records.sites.text import normalise, read_uuid
from records.sites.writing import Values


class LinesField(forms.CharField):
    """A list of short texts, with one text on each line."""

    widget = forms.Textarea({"rows": 3})

    def prepare_value(self, value: object) -> object:
        """Return the list as lines of text for the input."""
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        """Return the lines that are not empty; raises ValidationError on control characters."""
        if isinstance(value, list):
            return value
        return [line.strip() for line in normalise(value or "").split("\n") if line.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return whether the lines were changed."""
        try:
            return bool(self.to_python(self.prepare_value(initial)) != self.to_python(data))
        except ValidationError:
            return True


class CategoryFilter(admin.SimpleListFilter):
    """Filters the list to one of the current site's categories."""

    title = _("category")
    parameter_name = "category"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        """Return the categories of the current site."""
        categories = MaterialCategory.objects.at(current_site(request)).filter(is_archived=False)[:100]
        return [(str(category.pk), category.name) for category in categories]

    def queryset(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """Return the filtered list."""
        if not self.value():
            return queryset
        key = read_uuid(self.value())
        return queryset.filter(material_category=key) if key else queryset.none()


@admin.register(Material)
class MaterialAdmin(RecordAdmin):
    """The list of materials, which is searched by name, external id, codes, category and description."""

    update_action = staticmethod(actions.update_material)
    archive_action = staticmethod(actions.archive_material)
    list_display = ("site_sequence_id", "external_id", "name", "our_code", "material_category", "risk")
    list_display_links = ("site_sequence_id", "external_id", "name")
    list_filter = (ArchivedFilter, "risk", CategoryFilter, ("entity_folder", ReferenceFilter))
    search_fields = (*Material.SEARCHED, "material_category__name_key")
    fieldsets = (
        (None, {"fields": ("name", "external_id", "our_code", "supplier_code", "material_category", "entity_folder")}),
        (_("Assessment"), {"fields": ("risk", "country_of_origin", "description")}),
    )

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: object) -> LinesField:
        """Return the form field of a model field; countries are entered one on each line."""
        if db_field.name == "country_of_origin":
            return LinesField(
                label=gettext("Countries of origin"), required=False, help_text=gettext("One country on each line.")
            )
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def add_record(self, request: HttpRequest, site_id: uuid.UUID, values: Values) -> Material:
        """Add a material; if its external id is in use at the site, the material is refused instead of changed."""
        user = user_of(request)
        return actions.add_material(
            site_id,
            values,
            author=author_of(request),
            may=access.asking(user, site_id),
        )
