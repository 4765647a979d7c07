"""The category endpoint: one method for each list, made from the registry, and the other lists."""

import uuid
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any

from django.db import models
from django.http import HttpResponse
from rest_framework.request import Request

from records.accounts import access
from records.accounts.models import User
from records.category.serializers import EntrySerializer, RatingSerializer, UserEntrySerializer, entry_serializer
from records.operations import conditional, errors, lists
from records.operations.names import snake
from records.operations.viewsets import OperationViewSet
from records.reference.lists import LISTS, entries_at
from records.reference.models import Rating, ReferenceEntry
from records.sites.models import EntityFolder, Site

ENTRIES = lists.ListRules(search=("name_key", "code_key"))
NAME_OR_CODE = lists.ListRules(search=("name", "code"))

LIST_SERIALIZERS = {name: entry_serializer(name, model) for name, model in LISTS.items()}
FolderEntrySerializer = entry_serializer("Folder", EntityFolder)
SiteEntrySerializer = entry_serializer("Site", Site)


class CategoryViewSet(OperationViewSet):
    """The lists in which integrators find the ids that records point at.

    Each list of the registry has its `get_<list>_list`, made below the class.
    """

    def entries(
        self,
        rows_at: Callable[[uuid.UUID], models.QuerySet[Any, Any]],
        serializer: type[EntrySerializer],
        rules: lists.ListRules,
        *,
        is_same_for_all: bool = True,
    ) -> HttpResponse:
        """Return one page of the rows of the caller's site as a bare array, with the paging headers.

        `is_same_for_all` says that the rows depend on nothing but the site.
        """
        plan = serializer.plan()
        names = frozenset() if self.sees_private(serializer) else serializer.option("private")
        return self.page_of(
            lambda _, site_id: plan.computing(rows_at(site_id)),
            plan,
            rules,
            is_same_for_all=is_same_for_all,
            hidden_names=frozenset(names),
        )

    def get_rating(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Read one rating with the responses that findings can have and its score bands."""
        plan = RatingSerializer.plan()
        row = self.fetch_one(plan, Rating._default_manager.all, id)
        if row is None:
            raise errors.not_found()
        response = self.json(plan.show(row))
        # Ratings carry no revision, so the tag is of the content itself.
        tag = f'"{sha256(response.content).hexdigest()[:32]}"'
        if conditional.is_current(self.http_request, tag):
            response = HttpResponse(status=304)
        response["ETag"] = tag
        return response

    def get_folder_list(self, request: Request) -> HttpResponse:
        """List the site's folders, of all entities or of those asked for."""
        return self.entries(EntityFolder._default_manager.at, FolderEntrySerializer, NAME_OR_CODE)

    def get_site_list(self, request: Request) -> HttpResponse:
        """List the sites at which the caller holds a role."""
        rows = Site._default_manager.all()
        if not access.EVERYTHING.issubset(self.caller.permissions):
            rows = rows.filter(pk__in=self.caller.site_ids)
        return self.entries(lambda _: rows, SiteEntrySerializer, NAME_OR_CODE, is_same_for_all=False)

    def get_user_list(self, request: Request) -> HttpResponse:
        """List the people who hold a role at the site: who can review, approve, be notified, audit.

        Service accounts are left out, since they cannot sign.
        """
        return self.entries(_people_at, UserEntrySerializer, NAME_OR_CODE)


def _people_at(site_id: uuid.UUID) -> models.QuerySet[Any, Any]:
    members = access.accounts_at(site_id).order_by().values("pk")
    return User._default_manager.filter(pk__in=members, is_service_account=False)


def _lister(
    model: type[ReferenceEntry], serializer: type[EntrySerializer]
) -> Callable[[CategoryViewSet, Request], HttpResponse]:
    def get_list(self: CategoryViewSet, request: Request) -> HttpResponse:
        return self.entries(partial(entries_at, model), serializer, ENTRIES)

    get_list.__doc__ = f"List the {model._meta.verbose_name_plural} that records can point at."
    return get_list


for _name, _model in LISTS.items():
    setattr(CategoryViewSet, snake(f"Get{_name}List"), _lister(_model, LIST_SERIALIZERS[_name]))
