"""The back-office's admin site: access, the menu, the site switcher, and the search for references."""

import re
from collections import defaultdict
from collections.abc import Callable
from functools import cache, partial, wraps
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.admin.views.main import PAGE_VAR
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, resolve, reverse
from django.utils.text import capfirst
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.common import no_append_slash

from records.accounts.models import User
from records.backoffice import extension_points, rooms
from records.backoffice.about import url_of_page
from records.backoffice.autocomplete import choose
from records.backoffice.current import choose_site, current_site, sites_of
from records.backoffice.datetimes import NOTHING
from records.backoffice.permissions import SitePermissions
from records.backoffice.responses import page_response
from records.backoffice.unsaved_input import unsaved_input_context
from records.history.retrying import retry_transaction
from records.sites.models import SiteRecord

FOLDED_GROUPS = ("Lists", "Administration")
UNUSED_PAGES = ("autocomplete", "view_on_site")
"""Pages of Django's that we do not link to: `choose` searches references."""
_AN_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-", re.IGNORECASE)


@cache
def _place_in_menu(model: type[Model], _language: str | None) -> tuple[bool, str]:
    """Return what the lists of a room are sorted by: first what the room is about, each part by name."""
    return not issubclass(model, SiteRecord), str(capfirst(model._meta.verbose_name_plural))


class BackofficeSite(AdminSite):
    """The pages that quality staff work in."""

    site_title = "Larder"
    site_header = "Larder"
    index_title = _("Start")
    site_url = None
    empty_value_display = NOTHING

    @property
    def _registry(self) -> dict[Any, Any]:
        """Return the page of each model. Everything that Django does with the pages of the rooms asks for it."""
        rooms.load()
        return self._pages

    @_registry.setter
    def _registry(self, pages: dict[Any, Any]) -> None:
        self._pages = pages

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Register only admins that check every permission per site; those of other packages are left out."""
        if admin_class is not None and issubclass(admin_class, SitePermissions):
            with rooms.registering():
                super().register(model_or_iterable, admin_class, **options)

    def has_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may enter: active people may, service accounts may not."""
        return isinstance(request.user, User) and request.user.is_staff

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:
        """Return the view of a page; it begins again if it lost a deadlock, because nothing of it was stored."""

        @wraps(view)
        def page(request: HttpRequest, *args: object, **kwargs: object) -> Any:
            return retry_transaction(partial(view, request, *args, **kwargs))

        return super().admin_view(page, cacheable)

    def get_urls(self) -> list[Any]:
        """Return Django's URLs, preceded by ours."""
        rooms.load()
        return [
            path("choose/", self.admin_view(lambda request: choose(request, self)), name="choose"),
            path("site/", self.admin_view(self.switch_site), name="switch-site"),
            *(
                URLPattern(page.pattern, self.admin_view(page.callback), None, page.name)
                for page in extension_points.pages
            ),
            *(page for page in super().get_urls() if getattr(page, "name", "") not in UNUSED_PAGES),
        ]

    @no_append_slash
    def catch_all_view(self, request: HttpRequest, url: str) -> HttpResponse:
        """Redirect from the address of a page without its last slash to the page; raise Http404 for all others."""
        if request.method not in ("GET", "HEAD") or url.endswith("/"):
            raise Http404
        # Every address below `/admin/` resolves, if only to this view, which is marked.
        if not getattr(resolve(f"{request.path_info}/").func, "should_append_slash", True):
            raise Http404
        return redirect(request.get_full_path(force_append_slash=True))

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Return nothing: our templates show `navigation` and not Django's `available_apps`."""
        return []

    def app_index(self, request: HttpRequest, app_label: str, extra_context: dict[str, object] | None = None) -> Any:
        """Redirect to the start page: the menu shows every room."""
        return redirect("admin:index")

    def each_context(self, request: HttpRequest) -> dict[str, object]:
        """Return what every page shows: the menu, the current site, and the sites to switch to."""
        context: dict[str, Any] = super().each_context(request)
        if context.get("has_permission"):
            context["current_site"] = current_site(request)
            context["user_sites"] = sites_of(request)
            context.update(unsaved_input_context(request))
            context["start_url"] = url_of_page("admin:index")
            context["navigation"] = self._navigation(request)
        return context

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """Show the start page, with the content that rooms add to it."""
        start: dict[str, Any] = extension_points.start_page(request) if extension_points.start_page is not None else {}
        # Django's own method computes the menu twice.
        template = self.index_template or "admin/index.html"
        return page_response(request, template, self.index_title, **start, **(extra_context or {}))

    def _navigation(self, request: HttpRequest) -> list[dict[str, Any]]:
        """Return the groups of the menu: the lists that the user may open, and the pages that rooms add."""
        by_app: dict[str, list[tuple[bool, str, str]]] = defaultdict(list)
        for model, page in self._registry.items():
            if page.has_view_permission(request):
                place = _place_in_menu(model, get_language())
                by_app[model._meta.app_label].append((*place, page.url_of("changelist")))
        menu_labels = {label for labels in settings.BACKOFFICE_MENU.values() for label in labels}
        other_labels = sorted(
            by_app.keys() - menu_labels, key=lambda label: apps.get_app_config(label).verbose_name.lower()
        )
        links: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for group, labels in settings.BACKOFFICE_MENU.items():
            for label in (*labels, *(other_labels if group == "Administration" else ())):
                links[group] += [{"name": name, "url": url} for _beside, name, url in sorted(by_app[label])]
        for menu_link in extension_points.all_of(extension_points.menu_links, request):
            links[menu_link.group].append({"name": menu_link.label, "url": menu_link.url})
        urls = [link["url"] for items in links.values() for link in items if request.path.startswith(link["url"])]
        current_url, groups = max(urls, key=len, default=""), []
        for group in settings.BACKOFFICE_MENU:
            for link in links[group]:
                link["current"] = link["url"] == current_url
            if links[group]:
                current = any(link["current"] for link in links[group])
                groups.append(
                    {
                        "name": gettext(group),
                        "links": links[group],
                        "folded": group in FOLDED_GROUPS,
                        "current": current,
                    }
                )
        return groups

    def login(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> Any:
        """Show the only sign-in page."""
        from records.backoffice.sign_in.views import SignIn

        return SignIn.as_view()(request)

    def password_change(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> Any:
        """Change the user's own password."""
        from records.backoffice.passwords import ChangePasswordView

        view = ChangePasswordView.as_view(
            success_url=reverse("admin:password_change_done"),
            extra_context={
                **self.each_context(request),
                "title": gettext("Change your password"),
                **(extra_context or {}),
            },
        )
        return view(request)

    def switch_site(self, request: HttpRequest) -> HttpResponse:
        """Switch to another site, on a page of the same kind if the user may open it there."""
        if request.method == "POST":
            choose_site(request, request.POST.get("site", ""))
        return redirect(self._same_kind_of_page(request, request.POST.get("from", "")))

    def _same_kind_of_page(self, request: HttpRequest, came_from: str) -> str:
        """Return the URL of the list that the user came from or that contains the record, or else of the start page.

        Returns only pages that the user may open at the present site, so the form cannot redirect anywhere else.
        """
        before, _, query = came_from.partition("?")
        menu = self._navigation(request) if before else []
        pages = [link["url"] for group in menu for link in group["links"]] + [
            reverse(name) for name in settings.PAGES_OF_ALL_SITES
        ]
        page_url = max((page for page in pages if before.startswith(page)), key=len, default="")
        if not page_url:
            return reverse("admin:index")
        filters = QueryDict(query if before == page_url else "", mutable=True)
        for name, values in [*filters.lists()]:
            # The list's filters are kept, except for references to records, which are not at this site.
            if name == PAGE_VAR or any(_AN_ID.search(value) for value in values):
                del filters[name]
        return f"{page_url}?{filters.urlencode()}" if filters else page_url
