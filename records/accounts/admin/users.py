"""The pages of accounts: who can sign in, and how their access ends."""

import uuid
from typing import Any, ClassVar, Unpack

from django import forms
from django.contrib import admin
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts import access
from records.accounts.actions import add_user, end_access, give_access, update_user
from records.accounts.authority import Act, Actor, actor_of, may_act, require
from records.accounts.lost_devices import end_all_sessions, has_factors, remove_factors
from records.accounts.models import RoleMembership, User
from records.accounts.recovery import set_recovery_address
from records.backoffice.choice_filters import ChoiceFilter, FilterOptions
from records.backoffice.current import author_of, current_site, site_of_form, sites_of, user_of
from records.backoffice.datetimes import NOTHING, format_datetime
from records.backoffice.extension_points import all_of, record_notices
from records.backoffice.fields import AddressInput
from records.backoffice.forms import ReasonForm, WithoutReason
from records.backoffice.plain_records import PlainAdmin
from records.backoffice.tasks import invite
from records.backoffice.transitions import RecordStep, on_row
from records.history.digests import FieldChange
from records.history.trail import recording
from records.sites.models import Site
from records.sites.text import EMAIL
from records.sites.writing import Values, WriteArgs


def _end(model_admin: object, request: HttpRequest, user: User, reason: str, data: dict[str, object]) -> None:
    author = author_of(request)
    require(actor_of(author), Act.END_ACCESS, user)
    end_access(user, author=author, reason=reason)


END_ACCESS = RecordStep(
    "end-access",
    _("End access"),
    "change",
    _end,
    applies=lambda user: user.is_active,
    explanation=_(
        "Sessions, keys and tokens of the account end at once, everywhere. What the person has to do stays theirs "
        "until somebody else gets it."
    ),
    done=_("%(record)s has no access any more."),
    consequences=lambda model_admin, request, user: [notice.text for notice in all_of(record_notices, request, user)],
)
GIVE_ACCESS = RecordStep(
    "give-access",
    _("Give access again"),
    "change",
    on_row(give_access),
    applies=lambda user: not user.is_active and user.removed is None,
    explanation=_("The account can sign in again. Keys and tokens that were revoked stay revoked."),
    done=_("%(record)s has access again."),
)


def _invite(model_admin: object, request: HttpRequest, user: User, reason: str, data: dict[str, object]) -> None:
    with recording() as trail:
        notes: list[FieldChange] = [{"field": "invitation", "old": "", "new": "mailed"}]
        trail.add(user, notes, author=author_of(request), operation="InviteUser", site_id=user.home_site_id)
        invite.enqueue(str(user.pk))


INVITE = RecordStep(
    "invite",
    _("Mail an invitation"),
    "change",
    _invite,
    applies=lambda user: user.is_staff and user.last_login is None and bool(user.recovery_address),
    form=WithoutReason,
    explanation=_("The person gets a mail with a link for choosing a password."),
    done=_("%(record)s gets an invitation by e-mail."),
)


class AddressForm(ReasonForm):
    """The address to which links for a new password are sent from now on."""

    recovery_address = forms.EmailField(
        max_length=EMAIL,
        widget=AddressInput,
        help_text=_("Links for a new password and security notices go to this address. The old one gets a notice."),
    )
    field_order = ("recovery_address", "change_reason")


SET_ADDRESS = RecordStep(
    "recovery-address",
    _("Change the recovery address"),
    "change",
    on_row(set_recovery_address, "recovery_address"),
    applies=lambda user: user.removed is None and not user.is_service_account,
    form=AddressForm,
    explanation=_("Anybody who can read e-mails to this address can choose a new password for the account."),
    done=_("%(record)s has a new recovery address."),
)


END_SESSIONS = RecordStep(
    "end-sessions",
    _("End sessions"),
    "change",
    on_row(end_all_sessions),
    applies=lambda user: user.is_active and not user.is_service_account,
    explanation=_("The person is signed out of every browser at once and notified by e-mail. Keys remain valid."),
    done=_("%(record)s is signed out everywhere."),
)
REMOVE_FACTORS = RecordStep(
    "remove-factors",
    _("Remove second factors"),
    "change",
    on_row(remove_factors),
    applies=lambda user: user.removed is None and not user.is_service_account and has_factors(user),
    explanation=_(
        "For a lost phone. The account's passkeys, authenticator app and recovery codes stop working, its sessions "
        "end, and the person is notified by e-mail. Make sure first that the request really comes from this person."
    ),
    done=_("%(record)s has no second factor any more."),
)


class ActiveFilter(ChoiceFilter):
    """Shows accounts with access unless the user asks for others."""

    title = _("access")
    parameter_name = "active"
    usual = (_("With access"), Q(is_active=True))
    options: ClassVar[FilterOptions] = {"no": (_("Without access"), Q(is_active=False)), "all": (_("All"), Q())}


@admin.register(User)
class UserAdmin(PlainAdmin):
    """Accounts whose home site is the site or that hold a role there."""

    site_field = None
    record_actions = (INVITE, SET_ADDRESS, END_SESSIONS, REMOVE_FACTORS, END_ACCESS, GIVE_ACCESS)
    list_display = ("user_name", "printed_name", "email", "home_site", "kind", "may_sign_in")
    list_filter = (ActiveFilter, "is_service_account")
    search_fields: ClassVar[Any] = ("user_name", "given_name", "family_name", "display_name", "email")
    ordering: ClassVar[Any] = ("user_name", "id")
    readonly_fields = ("recovery_address", "roles", "directory", "last_login_shown")
    # The account of a person stays one, and so does that of an integration.
    fixed_fields = ("is_service_account",)
    # Everybody sees the names, since records name accounts. Only Managers see addresses and how somebody signs in.
    private_fields = ("email", "recovery_address", "pending_address", "last_login", "last_login_shown", "is_superuser")
    private_permission = "employees.view_private_employee"

    def site_id_of(self, record: Any) -> uuid.UUID | None:
        """Return the account's home site."""
        return record.home_site_id

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        """Return the accounts of the sites at which the user may see accounts; superusers see all."""
        rows: models.QuerySet[Any] = User.objects.all()
        if user_of(request).is_superuser:
            return rows
        return rows.filter(_at(self.sites_where(request, "view")))

    def at_site(self, rows: models.QuerySet[Any], site: Site | None) -> models.QuerySet[Any]:
        """Return the accounts whose home site is the site or that hold a role there."""
        return rows.filter(_at([site.pk])) if site is not None else rows

    def may(self, request: HttpRequest, action: str, record: User | None = None) -> bool:
        """Return whether the user may do this to the account.

        Somebody who may change an account can take it over, so `may_act` decides (DECISIONS 9.2).
        """
        user = user_of(request)
        if user.is_superuser:
            return True
        site_ids = set(self.sites_where(request, action))
        if record is None:
            site = site_of_form(request)
            return site is not None and site.pk in site_ids
        if action == "view":
            return record.home_site_id in site_ids or not site_ids.isdisjoint(self._sites_of(request, record))
        answers: dict[uuid.UUID, bool] = request.__dict__.setdefault("larder_may_change", {})
        if record.pk not in answers:
            answers[record.pk] = may_act(Actor(user=user), Act.RENAME, record)
        return answers[record.pk]

    def may_step(self, request: HttpRequest, step: RecordStep, record: User) -> bool:
        """Return whether the user may take the step: anybody who may change the account may.

        People change their own way of signing in on their profile page, which asks them to confirm who they are.
        """
        is_own = step in (SET_ADDRESS, REMOVE_FACTORS) and record.pk == user_of(request).pk
        return self.may(request, "change", record) and not is_own

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the account can be changed here; only the directory changes an account that belongs to it."""
        is_owned = obj is not None and (obj.directory_id is not None or obj.removed is not None)
        return not is_owned and super().has_change_permission(request, obj)

    def own_fieldsets(self, request: HttpRequest, obj: models.Model | None = None) -> Any:
        """Return the fields; only superusers see the fields that make somebody a superuser."""
        names = ["user_name", "given_name", "family_name", "display_name", "email", "is_service_account"]
        if user_of(request).is_superuser:
            names.append("is_superuser")
        if obj is not None:
            names += ["recovery_address", "roles", "directory", "last_login_shown"]
        return ((None, {"fields": names}),)

    def hidden_fields(self, request: HttpRequest, record: object = None) -> tuple[str, ...]:
        """Return the private fields, or none for a user who may see them or change accounts at one of its sites.

        These are its home site and those where it holds a role. The list, which has no record, asks for the current
        site, to which all accounts on it belong.
        """
        site, user = current_site(request), user_of(request)
        sites = {site.pk if site is not None else None} if record is None else self._sites_of(request, record)
        permissions = (self.private_permission, self.permission("change"))
        may_change = any(access.may(user, site_id, *permissions) for site_id in sites)
        return () if may_change else self.private_fields

    def _sites_of(self, request: HttpRequest, record: Any) -> set[uuid.UUID | None]:
        """Return the account's home site and the sites where it holds a role; one query a request."""
        sites_of_accounts: dict[uuid.UUID, set[uuid.UUID | None]] = request.__dict__.setdefault(
            "larder_sites_of_account", {}
        )
        if record.pk not in sites_of_accounts:
            sites_of_accounts[record.pk] = {record.home_site_id, *access.roles_held(record.pk)}
        return sites_of_accounts[record.pk]

    def get_object(self, request: HttpRequest, object_id: str, from_field: object = None, **also: object) -> Any:
        """Return an account that the user may see, with the sites whose roles the user may see."""
        account = super().get_object(request, object_id, from_field, **also)
        if account is not None:
            account.seen_at = {site.pk for site in sites_of(request)}
        return account

    @admin.display(description=_("roles"))
    def roles(self, user: User) -> str:
        """Return the account's roles with their sites; those at sites that the viewer may not see are not named."""
        memberships = RoleMembership.objects.filter(user=user, role__is_archived=False).select_related("role__site")
        seen_at: set[uuid.UUID] = getattr(user, "seen_at", set())
        visible_roles = [entry.role for entry in memberships if entry.role.site_id in seen_at]
        names = [f"{site}: {role}" for site, role in sorted((str(role.site), str(role)) for role in visible_roles)]
        if len(visible_roles) < len(memberships):
            names.append(gettext("further roles at other sites"))
        return "; ".join(names) or NOTHING

    @admin.display(description=_("kind"), ordering="is_service_account")
    def kind(self, user: User) -> str:
        """Return the kind of account in words: a cross in a column "service account" would look like an error."""
        return gettext("Service account") if user.is_service_account else gettext("Person")

    @admin.display(description=_("access"), ordering="is_active")
    def may_sign_in(self, user: User) -> str:
        """Return whether the account still has access."""
        return gettext("Yes") if user.is_active else format_html('<span class="tag">{}</span>', gettext("Ended"))

    @admin.display(description=_("last sign-in"))
    def last_login_shown(self, user: User) -> str:
        """Return when the account last signed in."""
        return format_datetime(user.last_login) or NOTHING

    def add_record(self, request: HttpRequest, site_id: uuid.UUID | None, values: Values) -> User:
        """Add an account whose home site is that of the form; its person sets a password by mail."""
        return add_user(User(home_site=site_of_form(request), **values), author=author_of(request))

    def update_record(self, request: HttpRequest, record: User, values: Values, **options: Unpack[WriteArgs]) -> User:
        """Change an account. Raises ValidationError if the name is in use."""
        return update_user(record, values, **options)


def _at(sites: list[uuid.UUID]) -> Q:
    member = RoleMembership.objects.filter(user=OuterRef("pk"), role__site__in=sites, role__is_archived=False)
    either: Q = Q(home_site__in=sites) | Q(Exists(member))
    return either
