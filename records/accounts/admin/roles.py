"""The pages of roles: what they permit, as a matrix, and who holds them."""

import uuid
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Unpack

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Permission
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts import access
from records.accounts.actions import add_role, set_members, update_role
from records.accounts.admin.permission_matrix import PermissionMatrix
from records.accounts.authority import Act, Actor, actor_of, may_act, require
from records.accounts.default_roles import permissions_of
from records.accounts.models import DefaultRole, Role, RoleMembership, User
from records.accounts.roles_held import lock_outer_roles, touch_members
from records.backoffice.autocomplete import choose_url
from records.backoffice.current import author_of, form_state, user_of
from records.backoffice.extension_points import RecordLink, RecordPanel
from records.backoffice.fields import as_number
from records.backoffice.form_errors import show_faults
from records.backoffice.formfields import reference_field
from records.backoffice.forms import ReasonForm
from records.backoffice.lists import UncountedPaginator
from records.backoffice.permissions import Pages
from records.backoffice.plain_records import PlainAdmin
from records.backoffice.transitions import RecordStep
from records.history.trail import recording
from records.sites.text import read_uuid
from records.sites.writing import Values, WriteArgs

MEMBERS_A_PAGE = 100


def grantable() -> QuerySet[Permission]:
    """Return the permissions that the product checks somewhere, in the order of the matrix."""
    condition = Q(pk__in=[])
    for name in permissions_of(DefaultRole.SITE_ADMINISTRATOR):
        app, codename = name.split(".")
        condition |= Q(content_type__app_label=app, codename=codename)
    return Permission.objects.filter(condition).select_related("content_type")


class PermissionsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """The permissions of a role as a matrix of kinds of record and actions."""

    widget = PermissionMatrix

    def label_from_instance(self, obj: object) -> Any:
        """Return the permission itself: the matrix shows its own labels."""
        return obj


@admin.register(Role)
class RoleAdmin(PlainAdmin):
    """Roles of a site. The product decides what default roles permit; the site chooses their members."""

    list_display = ("name", "kind", "directory")
    search_fields: ClassVar[Any] = ("name",)
    ordering: ClassVar[Any] = ("name", "id")
    fieldsets: ClassVar[Any] = ((None, {"fields": ("name", "permissions")}),)
    chosen_on = (RoleMembership,)
    own_pages: ClassVar[Pages] = (("<str:object_id>/members/", "members_view", "members"),)

    @admin.display(description=_("kind"))
    def kind(self, role: Role) -> str:
        """Return whether the role is a default role or one that the site made."""
        return gettext("Default") if role.default_role else gettext("Own")

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> PermissionsField:
        """Return the matrix for the permissions."""
        if db_field.name == "permissions":
            return PermissionsField(grantable(), required=False, label=gettext("Permissions"))
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether name and permissions may be changed; those of a default role or a directory's role may not."""
        is_fixed = obj is not None and (bool(obj.default_role) or obj.directory_id is not None)
        return (
            not is_fixed
            and super().has_change_permission(request, obj)
            and (obj is None or self.may_give(request, obj))
        )

    def may_give(self, request: HttpRequest, role: Role) -> bool:
        """Return whether the user may give the role: the user must hold everything that it permits (DECISIONS 9.4)."""
        answers: dict[uuid.UUID, bool] = request.__dict__.setdefault("larder_may_give", {})
        if role.pk not in answers:
            answers[role.pk] = may_act(Actor(user=user_of(request)), Act.GIVE_ROLE, role)
        return answers[role.pk]

    def may_step(self, request: HttpRequest, step: RecordStep, record: Role) -> bool:
        """Return whether the role may be archived: only roles that the site made."""
        return self.has_change_permission(request, record) or (
            record.is_archived and not record.default_role and self.may(request, "change", record)
        )

    def get_fieldsets(self, request: HttpRequest, obj: Role | None = None) -> Any:
        """Return the name and, in a form, the permissions; everywhere else a panel shows them."""
        fieldsets = super().get_fieldsets(request, obj)
        state = form_state(request)
        if obj is None or (state is not None and state.writable):
            return fieldsets
        return [
            (title, {**options, "fields": [n for n in options["fields"] if n != "permissions"]})
            for title, options in fieldsets
        ]

    def own_links(self, request: HttpRequest, record: Role) -> Sequence[RecordLink]:
        """Return the button that opens the members."""
        return (RecordLink("members", gettext("Members"), self.url_of("members", quote(record.pk))),)

    def own_panels(self, request: HttpRequest, record: Role) -> Sequence[RecordPanel]:
        """Return the matrix of the permissions, unless the form shows it to be changed."""
        state = form_state(request)
        if state is not None and state.writable:
            return ()
        permission_ids = set(record.permissions.values_list("pk", flat=True))
        context = {
            "rows": PermissionMatrix().rows(grantable(), permission_ids),
            "is_default": bool(record.default_role),
        }
        return (RecordPanel("accounts/matrix.html", context),)

    def add_record(self, request: HttpRequest, site_id: uuid.UUID, values: Values) -> Role:
        """Add a role for the site."""
        role = Role(site_id=site_id, name=values["name"])
        return add_role(role, permissions=values["permissions"], author=author_of(request))

    def update_record(self, request: HttpRequest, record: Role, values: Values, **options: Unpack[WriteArgs]) -> Role:
        """Rename a role or change what it permits."""
        return update_role(record, name=values.get("name"), permissions=values.get("permissions"), **options)

    def archive(self, request: HttpRequest, record: Role, *, archived: bool, reason: str) -> Role:
        """Archive or restore the role, which also removes it from or returns it to its members' groups."""
        with recording():
            act = Act.TAKE_ROLE if archived else Act.GIVE_ROLE
            require(actor_of(author_of(request)), act, record)
            lock_outer_roles(record.pk)
            locked_role = super().archive(request, record, archived=archived, reason=reason)
            touch_members(locked_role)
        return locked_role

    def field_choices(self, request: HttpRequest, field: Any, site_id: uuid.UUID | None) -> Any:
        """Return the possible members of a role: the site's roles and people (for a superuser, people of all sites)."""
        if field.related_model is User:
            people = User.objects.filter(is_active=True)
            if user_of(request).is_superuser or site_id is None:
                return people
            local_accounts = access.accounts_at(site_id).order_by().values("pk")
            return people.filter(Q(home_site_id=site_id) | Q(pk__in=local_accounts))
        return super().field_choices(request, field, site_id)

    # --- Members ---------------------------------------------------------------------------------------------------

    def members_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show a page of the role's members; add or remove members, with a reason."""
        role = self.record_or_404(request, object_id)
        writable = self.may(request, "change", role) and not role.is_archived and self.may_give(request, role)
        people = self.field_choices(request, RoleMembership._meta.get_field("user"), role.site_id)
        form = MembersForm(request.POST or None, role=role, people=people)
        if request.method == "POST":
            if not writable:
                raise PermissionDenied
            if form.is_valid():
                try:
                    self._set_members(request, role, form)
                except ValidationError as fault:
                    show_faults(form, (), fault)
                else:
                    self.message_user(request, gettext("The members of %(role)s were changed.") % {"role": role})
                    return redirect(request.path)
        page_number = as_number(request.GET.get("p", "1"), 5)
        number = 1 if page_number is None else page_number
        rows = role.memberships.select_related("user", "member_role", "directory").order_by("created", "id")
        pages: Any = UncountedPaginator(rows, MEMBERS_A_PAGE)
        if number < 1:
            raise Http404
        number, members = pages.read_or_last(number)
        return self.page_response(
            request,
            "accounts/members.html",
            gettext("Members of %(role)s") % {"role": role},
            original=role,
            back=self.url_of("read", quote(role.pk)),
            members=members,
            page=number,
            has_next=pages.has_more,
            form=form,
            writable=writable,
        )

    def _set_members(self, request: HttpRequest, role: Role, form: "MembersForm") -> None:
        memberships = RoleMembership.objects.filter(role=role, pk__in=form.cleaned_data["remove"])
        members = [entry.user or entry.member_role for entry in memberships.select_related("user", "member_role")]
        set_members(
            role,
            add=[*form.cleaned_data["users"], *form.cleaned_data["roles"]],
            remove=[member for member in members if member is not None],
            author=author_of(request),
            reason=form.cleaned_data["change_reason"],
        )


class MembersForm(ReasonForm):
    """The members to add to and remove from a role, and the reason."""

    field_order = ("users", "roles", "change_reason")

    def __init__(self, data: QueryDict | None, *, role: Role, people: QuerySet[User]) -> None:
        super().__init__(data)
        self.post_data = data
        url = partial(choose_url, RoleMembership._meta.get_field("user"), role.site_id)
        self.fields["users"] = reference_field(
            lambda: people, url, several=True, required=False, label=gettext("Add people")
        )
        roles = Role.objects.at(role.site_id).filter(is_archived=False).exclude(pk=role.pk)
        url = partial(choose_url, RoleMembership._meta.get_field("member_role"), role.site_id)
        self.fields["roles"] = reference_field(
            lambda: roles,
            url,
            several=True,
            required=False,
            label=gettext("Add roles"),
            help_text=gettext("Everybody who holds one of these roles also holds this role."),
        )
        self.order_fields(self.field_order)

    def clean(self) -> dict[str, object]:
        """Return the cleaned data with the selected memberships."""
        data = super().clean() or self.cleaned_data
        texts = self.post_data.getlist("remove") if self.post_data is not None else ()
        data["remove"] = [key for key in map(read_uuid, texts) if key is not None]
        if not (data["remove"] or data.get("users") or data.get("roles")):
            raise ValidationError(gettext("Choose whom to add or to remove."))
        return data
