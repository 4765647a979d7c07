"""The profile page: sites, roles, password, and keys and clients, also those of service accounts that one manages."""

import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import get_language_from_request, gettext, override
from django.utils.translation import gettext_lazy as _

from records.accounts import access, clients, keys, languages
from records.accounts.models import OAuthClient, RoleMembership, SubscriptionKey, User
from records.backoffice import extension_points
from records.backoffice.current import author_of, current_site, show_times_of, user_of
from records.backoffice.datetimes import format_datetime
from records.backoffice.forms import CredentialForm
from records.backoffice.once import process_once
from records.backoffice.shown_once import prevent_storing, redirect_with_secret, secret_of
from records.dashboard import key_calls
from records.sites.models import Site
from records.sites.text import read_uuid

MOST_ENDED = 10


class KeyForm(CredentialForm):
    """What a new key is called, which site it opens, and until when."""

    site = forms.ModelChoiceField(
        Site.objects.none(), label=_("Site"), empty_label=None, help_text=_("The site that the key opens.")
    )
    field_order = ("name", "site", "expires")

    def __init__(self, sites: object, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["site"].queryset = sites  # type: ignore[attr-defined]


def profile(request: HttpRequest) -> HttpResponse:
    """Show the profile, or issue, rotate or revoke a credential; the next page shows a new secret once."""
    account = _account(request)
    site = current_site(request)
    show_times_of(site)
    page = _Page(request, account)
    if request.method == "POST":
        done = page.act(request.POST.get("do", ""))
        if done is not None:
            return done
    return prevent_storing(request, TemplateResponse(request, "dashboard/profile.html", page.context()))


def _account(request: HttpRequest) -> User:
    """Return whose credentials are shown: the user, or a service account that the user administers."""
    account_id = request.GET.get("account", "")
    if not account_id:
        return user_of(request)
    key = read_uuid(account_id)
    account = User.objects.filter(pk=key, is_service_account=True, is_active=True).first() if key else None
    if account is None or not key_calls.administers(request, account):
        raise Http404
    return account


class _Page:
    """One answer of the profile page: whose it is, its forms, and the secret that it shows once."""

    def __init__(self, request: HttpRequest, account: User) -> None:
        self.request = request
        self.account = account
        self.author = author_of(request)
        self.sites = Site.objects.filter(pk__in=access.sites_where(account), is_archived=False).order_by("name", "id")
        self.key_form = KeyForm(self.sites)
        self.client_form = CredentialForm(prefix="client")

    def act(self, action: str) -> HttpResponse | None:
        """Do what was requested; returns None if the page has to show what is wrong."""
        acts = {
            "issue-key": self._issue_key,
            "rotate-key": self._rotate_key,
            "revoke-key": self._revoke_key,
            "issue-client": self._issue_client,
            "rotate-client": self._rotate_client,
            "revoke-client": self._revoke_client,
            "choose-language": self._choose_language,
        }
        if action not in acts:
            raise PermissionDenied
        try:
            return acts[action]()
        except ValidationError as fault:
            messages.error(self.request, "; ".join(fault.messages))
            return None

    def _own_credential(self, model: Any) -> Any:
        key = read_uuid(self.request.POST.get("id", ""))
        credential = model.objects.filter(pk=key, user=self.account).first() if key else None
        if credential is None:
            raise Http404
        return credential

    def _issue_key(self) -> HttpResponse | None:
        self.key_form = KeyForm(self.sites, self.request.POST)
        if not self.key_form.is_valid():
            return None
        data = self.key_form.cleaned_data
        with process_once(self.request):
            key, secret = keys.issue_key(
                self.account, data["site"], data["name"], author=self.author, expires=data["expires"]
            )
        return self._show(gettext("Subscription key “%(name)s”") % {"name": key.name}, secret)

    def _rotate_key(self) -> HttpResponse:
        with process_once(self.request):
            key, secret = keys.rotate_key(self._own_credential(SubscriptionKey).pk, author=self.author)
        return self._show(
            gettext("New key “%(name)s”: the old one works until you revoke it") % {"name": key.name}, secret
        )

    def _revoke_key(self) -> HttpResponse:
        key = keys.revoke_key(self._own_credential(SubscriptionKey).pk, author=self.author)
        messages.success(
            self.request,
            gettext("The key “%(name)s” (…%(hint)s) no longer works.") % {"name": key.name, "hint": key.hint},
        )
        return self._redirect()

    def _issue_client(self) -> HttpResponse | None:
        self.client_form = CredentialForm(self.request.POST, prefix="client")
        if not self.client_form.is_valid():
            return None
        data = self.client_form.cleaned_data
        with process_once(self.request):
            client, secret = clients.issue_client(
                self.account, data["name"], author=self.author, expires=data["expires"]
            )
        return self._show(gettext("Client “%(name)s”") % {"name": client.name}, secret, client.client_id)

    def _rotate_client(self) -> HttpResponse:
        with process_once(self.request):
            client, secret = clients.rotate_client(self._own_credential(OAuthClient).pk, author=self.author)
        return self._show(
            gettext("New secret of “%(name)s”: the old one has ended") % {"name": client.name}, secret, client.client_id
        )

    def _revoke_client(self) -> HttpResponse:
        client = clients.revoke_client(self._own_credential(OAuthClient).pk, author=self.author)
        messages.success(
            self.request, gettext("The client “%(name)s” can no longer fetch tokens.") % {"name": client.name}
        )
        return self._redirect()

    def _choose_language(self) -> HttpResponse:
        user = user_of(self.request)
        languages.choose_language(user, self.request.POST.get("language", ""), author=self.author)
        user.refresh_from_db(fields=["language"])
        with override(languages.chosen_language(user) or get_language_from_request(self.request)):
            messages.success(self.request, gettext("Your language was saved."))
        return self._redirect()

    def _redirect(self) -> HttpResponse:
        return redirect(self.request.get_full_path())

    def _show(self, name: str, secret: str, client_id: str = "") -> HttpResponse:
        return redirect_with_secret(self.request, {"name": name, "secret": secret, "client_id": client_id})

    def context(self) -> dict[str, Any]:
        """Return what the page shows."""
        base = settings.BASE_URL
        is_own = self.account.pk == user_of(self.request).pk
        title = gettext("Your profile") if is_own else gettext("Keys of %(account)s") % {"account": self.account}
        keys_shown = _lines(SubscriptionKey.objects.filter(user=self.account).select_related("site"))
        context = {
            **admin.site.each_context(self.request),
            "title": title,
            "account": self.account,
            "own": is_own,
            "secret": secret_of(self.request),
            "key_form": self.key_form,
            "client_form": self.client_form,
            "keys": keys_shown,
            "calls": key_calls.lines([line["row"].pk for line in keys_shown], key_calls.ON_PROFILE),
            "clients": _lines(OAuthClient.objects.filter(user=self.account)),
            "roles": RoleMembership.objects.filter(user=self.account, role__is_archived=False)
            .select_related("role__site")
            .order_by("role__site__name", "role__name", "id")[:200],
            "may_have_keys": self.sites.exists(),
            "languages": settings.LANGUAGES,
            "chosen_language": languages.chosen_language(user_of(self.request)),
            "base_url": base,
            "token_url": f"{base}/oauth/token",
            "docs_url": f"{base}/docs/",
        }
        if is_own:
            context["panels"] = extension_points.all_of(extension_points.profile_panels, self.request)
            sites = access.sites_where(self.request.user, "accounts.change_user")
            service_accounts = User.objects.filter(is_service_account=True, is_active=True, home_site__in=sites)
            context["service_accounts"] = service_accounts.select_related("home_site").order_by("user_name", "id")[:200]
        return context


def _lines(rows: QuerySet[Any]) -> list[dict[str, Any]]:
    """Return valid credentials, then the last ones that ended, as texts for the page."""
    credentials = list(rows.order_by("-created", "id")[:100])
    live = [row for row in credentials if row.is_live]
    ended_rows = [row for row in credentials if not row.is_live][:MOST_ENDED]
    return [
        {
            "row": row,
            "live": row.is_live,
            "created": format_datetime(row.created),
            "last_used": format_datetime(row.last_used) or gettext("never"),
            "expires": format_datetime(row.expires - datetime.timedelta(milliseconds=1), day=True)
            if row.expires
            else gettext("no end"),
            "state": {"live": "", "expired": gettext("expired")}.get(
                row.state, gettext("revoked %(revoked)s") % {"revoked": format_datetime(row.revoked)}
            ),
        }
        for row in (*live, *ended_rows)
    ]
