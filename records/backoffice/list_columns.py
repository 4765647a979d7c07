"""The columns of a list, which each user chooses: stored until the user returns to the usual ones."""

from collections.abc import Sequence
from typing import ClassVar

from django.contrib import messages
from django.contrib.admin.utils import flatten_fieldsets, label_for_field
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from records.accounts.models import User
from records.backoffice.current import author_of, state_of, user_of
from records.backoffice.models import ListColumns
from records.backoffice.permissions import Pages, SitePermissions
from records.history.snapshots import columns, differences
from records.history.trail import Author, recording
from records.sites.models import SiteRecord

MORE = ("entity_folder", "created", "created_by", "last_modified", "last_modified_by")
"""The extra columns that can be shown besides the usual ones and the fields of a record's form."""


def choose_columns(user: User, listing: str, names: Sequence[str], *, author: Author) -> None:
    """Store which columns the user sees in a list; an empty choice restores the usual ones."""
    # Not by the common writer: `get_or_create` makes one row of two first choices at the same moment, and the usual
    # columns are the absence of the row.
    with recording() as trail:
        row, is_new = ListColumns.objects.select_for_update(no_key=True).get_or_create(user=user, listing=listing)
        before = {} if is_new else columns(row)
        if not is_new and row.columns == list(names):
            return
        row.columns = list(names)
        trail.add(row, differences(row, before, columns(row)), author=author, operation="ChooseColumns")
        if names:
            row.save(update_fields=["columns"])
        else:
            row.delete()


class ColumnPages(SitePermissions):
    """The choice of a list's columns."""

    own_pages: ClassVar[Pages] = (("columns/", "columns_view", "columns"),)

    def list_context(self, request: HttpRequest) -> dict[str, object]:
        """Return also the choice of the list's columns."""
        extra = {"columns": self.columns_offered(request)} if self.has_view_permission(request) else {}
        return {**super().list_context(request), **extra}

    def fixed_columns(self) -> Sequence[str]:
        """Return the columns that link to the record, which every list shows."""
        usual = [*map(str, self.list_display)]
        return [name for name in map(str, self.list_display_links or usual[:1]) if name in usual]

    def possible_columns(self, request: HttpRequest) -> list[str]:
        """Return the usual columns and the plain fields of a record's declared fieldsets, if the user may see them."""
        further_names: list[str] = []
        if self.fieldsets and issubclass(self.model, SiteRecord):
            fields = {field.name: field for field in self.opts.concrete_fields}
            names = (*map(str, flatten_fieldsets(self.fieldsets)), *MORE)
            further_names = [
                name for name in names if name in fields and not isinstance(fields[name], models.TextField)
            ]
        hidden_fields = self.hidden_fields(request)
        return [
            name for name in dict.fromkeys([*map(str, self.list_display), *further_names]) if name not in hidden_fields
        ]

    def chosen_columns(self, request: HttpRequest) -> list[str]:
        """Return the columns that the user sees; one query per request."""
        by_listing: dict[str, list[str]] = state_of(request).columns
        listing = self.opts.label_lower
        if listing not in by_listing:
            row = ListColumns.objects.filter(user=user_of(request), listing=listing).first()
            possible, fixed = self.possible_columns(request), self.fixed_columns()
            shown_names = {*row.columns, *fixed} if row is not None else {*map(str, self.list_display)}
            by_listing[listing] = [name for name in possible if name in shown_names]
        return by_listing[listing]

    def columns_offered(self, request: HttpRequest) -> dict[str, object]:
        """Return the content of the form for choosing columns."""
        shown_names, fixed = self.chosen_columns(request), self.fixed_columns()
        rows = [
            {
                "name": name,
                "label": capfirst(str(label_for_field(name, self.model, self))),
                "checked": name in shown_names,
                "fixed": name in fixed,
            }
            for name in self.possible_columns(request)
        ]
        usual = [name for name in self.possible_columns(request) if name in self.list_display]
        return {"rows": rows, "address": self.url_of("columns"), "is_own": shown_names != usual}

    @method_decorator(require_POST)
    def columns_view(self, request: HttpRequest) -> HttpResponse:
        """Store the chosen columns, or restore the usual ones, and return to the list with its filters."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        checked_names = set(request.POST.getlist("column"))
        shown_names = [
            name for name in self.possible_columns(request) if name in checked_names or name in self.fixed_columns()
        ]
        names = [] if "reset" in request.POST else shown_names
        choose_columns(user_of(request), self.opts.label_lower, names, author=author_of(request))
        messages.success(
            request, gettext("The usual columns are shown again.") if not names else gettext("Your columns were saved.")
        )
        query = QueryDict(request.GET.urlencode(), mutable=True)
        # The order in the URL contains column numbers, which now mean other columns.
        query.pop("o", None)
        address = self.url_of("changelist")
        return redirect(f"{address}?{query.urlencode()}" if query else address)
