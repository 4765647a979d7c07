"""The back-office pages of directories: settings, tokens and connection (DECISIONS 2.4, 7.12)."""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Unpack

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import models
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts import address_ranges, brake, directories
from records.accounts.authority import Act, actor_of, require
from records.accounts.models import Dialect, Directory, ProvisioningToken
from records.backoffice.about import address_of
from records.backoffice.current import author_of, show_times_of, site_at, user_of
from records.backoffice.datetimes import NOTHING, format_datetime
from records.backoffice.extension_points import RecordLink, RecordNotice
from records.backoffice.forms import CredentialForm, ReasonForm
from records.backoffice.once import process_once
from records.backoffice.permissions import Pages
from records.backoffice.plain_records import CHANGE_TO_ARCHIVE, PlainAdmin
from records.backoffice.shown_once import prevent_storing, redirect_with_secret, secret_of
from records.history.trail import recording
from records.sites.models import Site
from records.sites.text import read_uuid
from records.sites.writing import Values, WriteArgs
from scim.admin.calls import moment_of
from scim.models import ProvisioningCall
from scim.mounts import Mount, base_of

MOUNTS: tuple[Mount, ...] = ("scim", "prodscim")
LAST_CALLS = 20


class TokenForm(CredentialForm):
    """The form for a new token: its name, its dialect, and the last day on which it is valid."""

    dialect = forms.ChoiceField(
        choices=Dialect.choices,
        help_text=_("Microsoft Entra ID or Okta for these products, RFC 7643 for strict clients, else Documented."),
    )
    read_only = forms.BooleanField(required=False, label=_("Read-only"), help_text=_("It can only read."))
    dry_run = forms.BooleanField(
        required=False,
        label=_("Dry run"),
        help_text=_("Its writes are answered and logged as usual, but nothing is stored."),
    )
    addresses = forms.CharField(
        required=False,
        label=_("Address ranges"),
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 2, "cols": 30}),
        help_text=_(
            "The networks from which it is accepted, one on each line, such as 192.0.2.0/24. Leave empty to accept it "
            "from any address."
        ),
    )
    field_order = ("name", "dialect", "expires", "read_only", "dry_run", "addresses")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        latest = directories.latest_end()
        if latest is not None:
            days = settings.PROVISIONING_TOKEN_DAYS
            self.fields["expires"].help_text = gettext(
                "The last day on which it is valid, at most %(days)s days from today. Leave empty for the latest day."
            ) % {"days": days}

    def clean_addresses(self) -> list[str]:
        """Return the networks that were entered."""
        try:
            return address_ranges.parse(self.cleaned_data["addresses"].replace(",", " ").split())
        except ValidationError as fault:
            raise ValidationError(fault.messages) from fault


@admin.register(Directory)
class DirectoryAdmin(PlainAdmin):
    """Directories whose home is the current site; only a superuser can widen what its administrators set up."""

    site_field = "home_site"
    list_display = ("name", "home_site", "may_administer", "stopped")
    readonly_fields = ("service_account",)
    own_pages: ClassVar[Pages] = (("<str:object_id>/connection/", "connection_view", "connection"),)
    record_actions = (
        replace(
            CHANGE_TO_ARCHIVE[0], explanation=_("Its tokens end at once and for good. Its users stay as they are.")
        ),
        replace(CHANGE_TO_ARCHIVE[1], explanation=_("The directory can be connected again, with a new token.")),
    )

    def get_fieldsets(self, request: HttpRequest, obj: models.Model | None = None) -> Any:
        """Return the fields; only a superuser can edit which sites the directory sees and whether it may administer."""
        names = ["name", "matches_by_code", "sends_invitations", "may_set_passwords"]
        if user_of(request).is_superuser:
            names += ["sites", "may_administer"]
        if obj is not None:
            names.append("service_account")
        return ((None, {"fields": names}), *super().get_fieldsets(request, obj)[1:])

    def field_choices(self, request: HttpRequest, field: Any, site_id: uuid.UUID | None) -> models.QuerySet[Any]:
        """Offer every site in the field for the sites that a directory sees, because only a superuser can edit it."""
        if field.name == "sites" and user_of(request).is_superuser:
            return Site.objects.filter(is_archived=False)
        return super().field_choices(request, field, site_id)

    def add_record(self, request: HttpRequest, site_id: uuid.UUID | None, values: Values) -> Directory:
        """Add a directory whose home is the current site, together with its own service account."""
        site = site_at(request, site_id)
        if site is None:
            raise PermissionDenied
        attributes = dict(values)
        name, sites = attributes.pop("name"), attributes.pop("sites", ())
        return directories.add_directory(name, site, sites=sites, author=author_of(request), **attributes)

    def update_record(self, request: HttpRequest, record: Any, values: Values, **options: Unpack[WriteArgs]) -> Any:
        """Change the settings; the home site always remains one of the directory's sites."""
        attributes = dict(values)
        sites = attributes.pop("sites", None)
        author = options["author"]
        with recording():
            actor = actor_of(author)
            require(actor, Act.PROVISION, record)
            locked_directory = super().update_record(request, record, attributes, **options)
            if sites is not None:
                directories.set_sites(locked_directory, sites, author=author)
            require(actor, Act.PROVISION, locked_directory)
        return locked_directory

    def archive(self, request: HttpRequest, record: models.Model, *, archived: bool, reason: str) -> Any:
        """Archive the directory and end its tokens, or restore it without them."""
        with recording():
            locked_directory = super().archive(request, record, archived=archived, reason=reason)
            directories.revoke_tokens(locked_directory, author=author_of(request), reason=reason)
        return locked_directory

    def own_links(self, request: HttpRequest, record: models.Model) -> Sequence[RecordLink]:
        """Return the button that opens the connection page."""
        url = self.url_of("connection", quote(record.pk))
        return (RecordLink("connection", gettext("Connection and tokens"), url),)

    def connection_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show addresses, tokens and the latest calls; create or revoke a token, or run the connection test."""
        directory = self.record_or_404(request, object_id)
        if not self.has_view_permission(request, directory):
            raise PermissionDenied
        show_times_of(site_at(request, directory.home_site_id))
        page = _Connection(request, directory, writable=self.may(request, "change", directory))
        if request.method == "POST" and (done := page.act(request.POST.get("do", ""))) is not None:
            return done
        return prevent_storing(
            request,
            self.page_response(
                request,
                "scim/connection.html",
                gettext("Connection of %(directory)s") % {"directory": directory},
                original=directory,
                back=address_of(directory),
                log_url=f"{reverse('admin:scim_provisioningcall_changelist')}?directory={directory.pk}",
                # A test of the connection leaves nothing that leaving the page could lose.
                is_unsent=request.POST.get("do", "").startswith("check-"),
                **page.context(),
            ),
        )


def record_notices(_request: HttpRequest, record: object) -> Sequence[RecordNotice]:
    """Return what a directory's page says above it while its removals are stopped."""
    if not isinstance(record, Directory) or record.stopped is None:
        return ()
    text = gettext("Mass removal stopped: under “Connection and tokens” a Site Administrator can confirm the removals.")
    return (RecordNotice(text, is_warning=True),)


class _Connection:
    """One response of the connection page: its forms, and the steps of a test."""

    def __init__(self, request: HttpRequest, directory: Directory, *, writable: bool) -> None:
        self.request = request
        self.directory = directory
        self.writable = writable
        self.form = TokenForm()
        self.confirm_form = ReasonForm()
        self.steps: list[Any] = []

    def act(self, action: str) -> HttpResponse | None:
        """Perform the requested action; returns None if the page has to show a test's steps or what is wrong."""
        acts = {
            "issue": self._issue,
            "confirm": self._confirm,
            "revoke": self._revoke,
            "check-scim": self._check,
            "check-prodscim": self._check,
        }
        if not self.writable or action not in acts:
            raise PermissionDenied
        try:
            return acts[action]()
        except ValidationError as fault:
            messages.error(self.request, "; ".join(fault.messages))
            return None

    def _issue(self) -> HttpResponse | None:
        self.form = TokenForm(self.request.POST)
        if not self.form.is_valid():
            return None
        data = self.form.cleaned_data
        with process_once(self.request):
            token, secret = directories.issue_token(
                self.directory,
                data["name"],
                author=author_of(self.request),
                dialect=Dialect(data["dialect"]),
                expires=data["expires"],
                read_only=data["read_only"],
                dry_run=data["dry_run"],
                addresses=data["addresses"],
            )
        return redirect_with_secret(self.request, {"name": token.name, "secret": secret})

    def _revoke(self) -> HttpResponse:
        key = read_uuid(self.request.POST.get("id", ""))
        token = ProvisioningToken.objects.filter(pk=key, directory=self.directory).first() if key else None
        if token is None:
            raise Http404
        directories.revoke_token(token.pk, author=author_of(self.request))
        messages.success(self.request, gettext("The token “%(name)s” no longer works.") % {"name": token.name})
        return redirect(self.request.get_full_path())

    def _confirm(self) -> HttpResponse | None:
        self.confirm_form = ReasonForm(self.request.POST)
        if not self.confirm_form.is_valid():
            return None
        reason = self.confirm_form.cleaned_data["change_reason"]
        brake.confirm(self.directory, author=author_of(self.request), reason=reason)
        messages.success(
            self.request, gettext("“%(directory)s” may remove people again.") % {"directory": self.directory}
        )
        return redirect(self.request.get_full_path())

    def _check(self) -> None:
        from scim.selfcheck import check

        mount: Mount = "prodscim" if self.request.POST.get("do") == "check-prodscim" else "scim"
        self.steps = check(self.directory, mount, author_of(self.request))

    def context(self) -> dict[str, object]:
        """Return the template context of the page."""
        from scim.selfcheck import rules_of

        tokens = ProvisioningToken.objects.filter(directory=self.directory).order_by("-created", "pk")
        calls = ProvisioningCall.objects.filter(directory=self.directory).select_related("directory__home_site")[
            :LAST_CALLS
        ]
        return {
            "addresses": [base_of(mount) for mount in MOUNTS],
            "tokens": [_line(token) for token in tokens[:20]],
            "calls": [{"row": call, "at": moment_of(call), "failed": call.status >= 400} for call in calls],
            "form": self.form,
            "stopped": format_datetime(self.directory.stopped) if self.directory.stopped else "",
            "confirm_form": self.confirm_form,
            "brake_people": settings.DIRECTORY_BRAKE_PEOPLE,
            "brake_percent": settings.DIRECTORY_BRAKE_PERCENT,
            "secret": secret_of(self.request),
            "rules": rules_of(self.directory),
            "steps": self.steps,
            "passed": bool(self.steps) and all(step.passed for step in self.steps),
            "writable": self.writable,
        }


def _line(token: ProvisioningToken) -> dict[str, object]:
    return {
        "row": token,
        "live": token.is_live,
        "state": token.state,
        "rules": ", ".join(_rules(token)) or NOTHING,
        "created": format_datetime(token.created),
        "last_used": format_datetime(token.last_used) or gettext("never"),
        "expires": format_datetime(token.expires) or gettext("no end"),
    }


def _rules(token: ProvisioningToken) -> Iterator[str]:
    yield from [gettext("read-only")] * token.read_only + [gettext("dry run")] * token.dry_run
    yield from token.addresses
