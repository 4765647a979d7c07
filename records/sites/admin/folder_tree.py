"""The folders of a site as a tree that users can browse and change."""

import uuid
from dataclasses import dataclass, field
from typing import ClassVar

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext

from records.backoffice.current import author_of, current_site
from records.backoffice.forms import ReasonForm
from records.backoffice.permissions import Pages, SitePermissions
from records.sites import actions
from records.sites.models import FOLDER_ENTITIES, Entity, EntityFolder, Site
from records.sites.text import read_uuid
from records.sites.writing import RecordNotFoundError

SESSION_KEY = "folders"


@dataclass(slots=True)
class Node:
    """A folder of the tree with its contents, and what the user can do with it."""

    folder: EntityFolder
    records: int
    records_url: str
    inner: list["Node"] = field(default_factory=list)
    takes_moved: bool = False


class FolderTree(SitePermissions):
    """The tree page, which replaces the list unless the list is asked for, and moving a folder on it."""

    own_pages: ClassVar[Pages] = (("move/", "move_view", "move"),)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        """Show the tree; if the address has list filters, show the list, which also contains archived folders."""
        if request.GET.keys() - {"entity", "move"} or request.method != "GET":
            return super().changelist_view(request, extra_context)
        if not self.has_view_permission(request):
            raise PermissionDenied
        site = current_site(request)
        if site is None:
            raise PermissionDenied
        return self._tree(request, site, self._moving(request, site), ReasonForm())

    def _tree(self, request: HttpRequest, site: Site, moving: EntityFolder | None, form: ReasonForm) -> HttpResponse:
        """Show the tree, with the form for moving a folder if there is one to be moved."""
        entity = Entity(moving.entity) if moving else self._entity(request)
        nodes = self._tree_of(request, site, entity, moving)
        return self.page_response(
            request,
            "sites/folder_tree.html",
            gettext("Folders"),
            site_shown=site,
            entity=entity,
            kinds=[(kind, kind == entity) for kind in FOLDER_ENTITIES],
            nodes=nodes,
            moving=moving,
            moving_form=form if moving else None,
            may_add=self.has_add_permission(request),
            may_change=self.has_change_permission(request),
        )

    def _entity(self, request: HttpRequest) -> Entity:
        """Return the kind of record whose folders are shown: the requested one, otherwise the last one seen."""
        requested = request.GET.get("entity", "")
        if requested in FOLDER_ENTITIES:
            request.session[SESSION_KEY] = requested
        stored = request.session.get(SESSION_KEY, "")
        return Entity(stored) if stored in FOLDER_ENTITIES else Entity.DOCUMENT

    def _moving(self, request: HttpRequest, site: Site) -> EntityFolder | None:
        if "move" not in request.GET:
            return None
        if not self.has_change_permission(request):
            raise PermissionDenied
        key = read_uuid(request.GET["move"])
        folder = EntityFolder.objects.at(site).filter(pk=key, is_archived=False).first() if key else None
        if folder is None:
            raise Http404(gettext("There is no such folder."))
        return folder

    def move_view(self, request: HttpRequest) -> HttpResponse:
        """Move a folder into another one or to the top, and show the tree again."""
        site = current_site(request)
        if site is None or request.method != "POST" or not self.has_change_permission(request):
            raise PermissionDenied
        folder_id, target = read_uuid(request.POST.get("folder", "")), request.POST.get("target", "")
        target_id = read_uuid(target) if target else None
        form = ReasonForm(request.POST)
        if folder_id is None or (target and target_id is None):
            raise Http404(gettext("There is no such folder."))
        if not form.is_valid():
            return self._again(request, site, folder_id, form)
        try:
            folder = actions.move_folder(
                site.pk, folder_id, target_id, author=author_of(request), reason=form.cleaned_data["change_reason"]
            )
        except RecordNotFoundError:
            raise Http404(gettext("There is no such folder.")) from None
        except ValidationError as fault:
            form.add_error(None, fault.messages)
            return self._again(request, site, folder_id, form)
        self.message_user(request, gettext("%(folder)s was moved.") % {"folder": folder}, messages.SUCCESS)
        return redirect(f"{self.url_of('changelist')}?{urlencode({'entity': folder.entity})}")

    def _again(self, request: HttpRequest, site: Site, folder_id: uuid.UUID, form: ReasonForm) -> HttpResponse:
        """Show the tree with what was typed and what is wrong with it."""
        folder = EntityFolder.objects.at(site).filter(pk=folder_id, is_archived=False).first()
        if folder is None:
            raise Http404(gettext("There is no such folder."))
        return self._tree(request, site, folder, form)

    def _tree_of(
        self, request: HttpRequest, site: Site, entity: Entity, moving: EntityFolder | None = None
    ) -> list[Node]:
        """Return the tree of a site and entity, with the number of records in each folder that the user may see.

        One query for each kind of record. If a folder is to be moved, every node says whether it can be its parent.
        """
        counts, address = self._record_counts(request, site, entity)
        top: list[Node] = []
        branch: list[Node] = []
        inside = -1
        for folder, depth in actions.folder_tree(site.pk, entity):
            node = Node(
                folder, counts.get(folder.pk, 0), f"{address}?{urlencode({'entity_folder__id__exact': str(folder.pk)})}"
            )
            del branch[depth:]
            (branch[-1].inner if branch else top).append(node)
            branch.append(node)
            if moving is not None:
                if folder.pk == moving.pk:
                    inside = depth
                elif depth <= inside:
                    inside = -1
                node.takes_moved = inside < 0 and folder.pk != moving.parent_id
        return top

    def _record_counts(self, request: HttpRequest, site: Site, entity: Entity) -> tuple[dict[uuid.UUID, int], str]:
        """Return how many records each folder contains (also archived ones), and the address of their list."""
        counts: dict[uuid.UUID, int] = {}
        address = ""
        for model in actions.filed_models():
            if getattr(model, "ENTITY", None) != entity:
                continue
            address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
            visible_rows = self.visible_rows(request, model, site.pk)
            if visible_rows is None:
                continue
            rows = visible_rows.filter(entity_folder__isnull=False).order_by()
            for key, count in rows.values_list("entity_folder").annotate(Count("pk")):
                counts[key] = counts.get(key, 0) + count
        return counts, address
