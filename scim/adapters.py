"""Adapters between a SCIM resource and an account or role. They collect the desired state and call the actions."""

import uuid
from collections.abc import Sequence
from typing import Any

from django_scim.adapters import SCIMGroup, SCIMUser
from scim2_models import Context, InvalidValueException, MutabilityException, Resource

from records.accounts import provisioning as accounts
from records.accounts import role_provisioning
from records.accounts.employee_facts import REMOVED_NAMES
from records.accounts.models import Role, User
from records.accounts.role_members import DesiredMembers, about_members
from records.accounts.role_provisioning import DesiredRole
from records.accounts.roles_held import locking_outer_roles
from records.backoffice.tasks import invite
from records.employees import provisioning
from records.history.statements import Rows, Statement
from records.sites.text import normalise
from scim.callers import Caller
from scim.declared import declared_names, undeclared_attributes
from scim.desired_state import desired_person
from scim.differences import READ_ONLY, notes_on
from scim.errors import ScimError
from scim.members import (
    Membership,
    desired_members,
    entries_of,
    notes_on_members,
    split_operations,
    take_members,
)
from scim.patches import apply_patch, clean_schemas, note_ignored, operations_of, without_read_only
from scim.projection import Projection
from scim.representations import STATE, Representation, group_document_of, members_of, user_document_of
from scim.requests import Query
from scim.schemas import (
    BODY_POLICY,
    ENTERPRISE,
    EXTENSIONS,
    GROUP,
    MODELS,
    SITE,
    USER,
    GroupResource,
    SiteExtension,
    UserResource,
)
from scim.wording import by_lower_name


def _dump(resource: Resource[Any]) -> Representation:
    return dict(resource.model_dump(scim_ctx=Context.DEFAULT))


def _clean_body(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body without its read-only attributes, and with the schema URNs spelt as they are declared.

    The endpoint says which resource it is, so a list of schemas that names none, or only unknown ones, gets its own.
    """
    attributes = {name: value for name, value in body.items() if name.lower() not in READ_ONLY}
    schemas_name = next((name for name in attributes if name.lower() == "schemas"), None)
    if schemas_name is None:
        return attributes
    schemas = clean_schemas(attributes.pop(schemas_name), MODELS[kind].__schema__)
    if isinstance(schemas, list) and not {str(urn).lower() for urn in schemas} & {USER.lower(), GROUP.lower()}:
        schemas = [MODELS[kind].__schema__, *schemas]
    return attributes if schemas is None else {**attributes, "schemas": schemas}


def _extensions_in(body: dict[str, Any]) -> Representation:
    """Return, empty, the extensions of User of which a body names an attribute, even if only as null."""
    attributes, names = by_lower_name(body), declared_names("User")
    return {
        urn: {}
        for urn in EXTENSIONS["User"]
        if by_lower_name(attributes.get(urn.lower()) or {}).keys() & names[urn.lower()]
    }


def _changed_attributes(before: Representation, after: Representation) -> Representation:
    """Return the attributes that a PATCH changes, with null in place of those that it removes."""
    changes: Representation = {}
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if new != old and name.lower() not in READ_ONLY:
            changes[name] = (
                _changed_attributes(old, new or {}) if isinstance(old, dict) and isinstance(new, dict | None) else new
            )
    return changes


class _Adapter:
    """What the adapters of both resource types share."""

    id_field = "pk"
    resource_type: str
    caller: Caller
    request: Any
    obj: Any
    id: str
    version: str
    requested_values: tuple[Representation, ...]
    """What the write asks for: the body, or what the operations of a PATCH change and what is read-only in them."""

    def read_operations(self, key: uuid.UUID, body: dict[str, Any]) -> None:
        """Read from the body of a PATCH what does not depend on the present state, before anything is locked."""

    def locking(self, key: uuid.UUID) -> list[Statement]:
        """Return the statements that begin the transaction of a change; `lock` gets their rows."""
        return []

    def statements_for_next_block(self, key: uuid.UUID) -> list[Statement]:
        """Return the statements that run with those of `locking`, because the write needs their rows next."""
        return []

    @property
    def location(self) -> str:
        """Return the address of the resource on the mount that was called."""
        return f"{self.caller.base}/{self.resource_type}s/{self.id}"

    def to_dict(self, query: Query | None = None) -> Representation:
        """Return the document, or the part of it that the query asks for; what it excludes may not be read at all."""
        projection, document = self._read_document(query or Query())
        return projection.apply(document)

    def document_after_write(self, query: Query) -> Representation:
        """Return the document after a write, and note for the log what it does not show as it was sent."""
        projection, document = self._read_document(query)
        is_new = self.request.method == "POST"
        self.caller.notes.extend(notes_on(self.resource_type, self.requested_values, document, is_new=is_new))
        return projection.apply(document)

    def _read_document(self, query: Query) -> tuple[Projection, Representation]:
        if self.obj is None:
            raise ScimError(404, f"There is no such {self.resource_type}.")
        projection = Projection.of(self.resource_type, query, omits_on_request=self.caller.reads_rfc)
        document = self._document(self.obj, projection)
        self.version = document["meta"]["version"]
        return projection, document

    def _document(self, obj: Any, projection: Projection) -> Representation:
        raise NotImplementedError


class UserAdapter(_Adapter, SCIMUser):
    """A User: an account together with its employee."""

    resource_type = "User"
    obj: User | None

    def __init__(self, obj: User | None, request: Any = None) -> None:
        super().__init__(obj, request)
        self.caller: Caller = request.caller
        self.desired: provisioning.DesiredPerson | None = None
        self.external_id = ""

    def _document(self, obj: User, projection: Projection) -> Representation:
        return user_document_of(self.caller, obj, self.external_id, projection)

    def lock(self, key: uuid.UUID, _: Sequence[Rows] = ()) -> bool:
        """Lock the person before reading the current state; returns whether the token can see the person."""
        is_delete = self.request.method == "DELETE"
        self.person = provisioning.lock_person(key, self.caller.directory, is_leaving=is_delete)
        self.obj = self.person.user
        self.external_id = self.person.external.value if self.person.external else ""
        return self.obj.is_seen_by(self.caller)

    def _before(self) -> Representation:
        """Return the document before the change without groups, and with the state that only the account stores."""
        document = self.to_dict(Query(excluded_attributes=("groups",)))
        if self.obj is not None:
            document |= {STATE: self.obj.is_active, REMOVED_NAMES: self.obj.directory_attributes.get(REMOVED_NAMES, [])}
        # A caller who names another manager does not change the display name of the present manager: it is read-only.
        document.get(ENTERPRISE, {}).get("manager", {}).pop("displayName", None)
        return document

    def from_dict(self, body: dict[str, Any]) -> None:
        """Collect the state that a POST or PUT asks for; a POST for a person who returns changes that person."""
        context = Context.RESOURCE_REPLACEMENT_REQUEST if self.obj else Context.RESOURCE_CREATION_REQUEST
        note_ignored(undeclared_attributes("User", body), self.caller.notes)
        with BODY_POLICY:
            resource: Any = UserResource.model_validate(_clean_body("User", body), scim_ctx=context)
        self.requested_values = (body,)
        after = {**_extensions_in(body), **_dump(resource)}
        if self.obj is None and self._recognise(normalise(after.get("externalId", ""))):
            after.setdefault("active", True)
        before = self._before() if self.obj else None
        self.desired = desired_person(self.caller, after, before, is_complete=before is None)

    def _recognise(self, external_id: str) -> bool:
        """Lock the inactive person whom the directory created with this externalId; returns whether there is one."""
        key = accounts.inactive_user(self.caller.directory, external_id)
        if key is None:
            return False
        if self.lock(key) and self.obj is not None and not self.obj.is_active and self.external_id == external_id:
            return True
        self.obj = None  # Another request was faster
        return False

    def handle_operations(self, body: dict[str, Any]) -> None:
        """Collect the state that a PATCH leads to."""
        before = self._before()
        operations, read_only_values = without_read_only(
            "User", operations_of("User", body, self.caller.notes), before["id"]
        )
        after = _dump(apply_patch("User", before, operations, body.get("schemas")))
        self.requested_values = (_changed_attributes(before, after), *read_only_values)
        self.desired = desired_person(self.caller, after, before, is_complete=True)

    def save(self) -> None:
        """Call the action for the collected state; raises ScimError (400) if nothing was asked for."""
        if self.desired is None:
            raise ScimError(400, "Nothing was asked for.", "invalidSyntax")
        directory, author = self.caller.directory, self.caller.author
        self.external_id = self.desired.account.external_id
        self.desired.account.password_hash = self.request.hashed_password
        if self.obj is None:
            self.obj = provisioning.add_person(self.desired, directory, author=author)
            if directory.sends_invitations and self.obj.is_active and self.obj.recovery_address:
                invite.enqueue(str(self.obj.pk))
        else:
            provisioning.change_person(self.person, self.desired, directory, author=author)
        self.caller.notes.extend(self.desired.account.notes)

    def delete(self) -> None:
        """Remove the person, who loses all access at once; raises ScimError (404) if there is none."""
        if self.obj is None:
            raise ScimError(404, "There is no such User.")
        provisioning.remove_person(self.person, self.caller.directory, author=self.caller.author)


class GroupAdapter(_Adapter, SCIMGroup):
    """A Group: a role of a site."""

    resource_type = "Group"
    obj: Role | None

    def __init__(self, obj: Role | None, request: Any = None) -> None:
        super().__init__(obj, request)
        self.caller: Caller = request.caller
        self.desired: DesiredRole | None = None
        self.site_id = self.caller.directory.home_site_id

    def _document(self, obj: Role, projection: Projection) -> Representation:
        return group_document_of(self.caller, obj, projection)

    def locking(self, key: uuid.UUID) -> list[Statement]:
        """Return the statements that lock the role and, unless it keeps its name, the roles that show it."""
        keeps_name = self.request.method == "PATCH" and not self.other_operations
        return [*([] if keeps_name else locking_outer_roles(key)), role_provisioning.locking_role(key)]

    def statements_for_next_block(self, key: uuid.UUID) -> list[Statement]:
        """Return the statements about the members that a PATCH adds and removes."""
        members = self.desired.members if self.desired and not self.other_operations else None
        return about_members(key, members, self.caller.directory) if members else []

    def lock(self, key: uuid.UUID, rows: Sequence[Rows]) -> bool:
        """Take the locked role; returns whether the token can see it."""
        self.obj = role_provisioning.locked_role(rows[-1])
        return self.obj.is_seen_by(self.caller)

    def from_dict(self, body: dict[str, Any]) -> None:
        """Collect the state that a POST or PUT asks for; a PUT without displayName keeps the name."""
        other_attributes, has_members, value = take_members(_clean_body("Group", body))
        note_ignored(undeclared_attributes("Group", other_attributes), self.caller.notes)
        self.caller.notes.extend(notes_on_members([value]))
        context = Context.RESOURCE_REPLACEMENT_REQUEST if self.obj else Context.RESOURCE_CREATION_REQUEST
        with BODY_POLICY:
            resource: Any = GroupResource.model_validate(other_attributes, scim_ctx=context)
        self.requested_values = (body,)
        self._place(resource[SiteExtension])
        members = desired_members(entries_of(value), exact=self.obj is not None) if has_members else None
        self.desired = DesiredRole(resource.display_name, resource.external_id, members)

    def _place(self, site: SiteExtension | None) -> None:
        """Use the site that the extension names; raises MutabilityException when an existing role has another site."""
        if site is None or not site.value:
            return
        if self.obj is not None:
            if site.value != str(self.obj.site_id):
                raise MutabilityException(attribute=f"{SITE}:value", detail="The site of a Group cannot change.")
            return
        site_id = next((key for key in self.caller.site_ids if str(key) == site.value), None)
        if site_id is None:
            raise InvalidValueException(detail=f"There is no site with the id {site.value[:100]!r}.")
        self.site_id = site_id

    def read_operations(self, key: uuid.UUID, body: dict[str, Any]) -> None:
        """Separate the operations on members, which are calculated without the SCIM models, from the others."""
        operations, self.read_only_values = without_read_only(
            "Group", operations_of("Group", body, self.caller.notes), str(key)
        )
        self.member_operations, self.other_operations = split_operations(operations)
        self.caller.notes.extend(notes_on_members([operation.value for operation in self.member_operations]))
        self.desired = DesiredRole()
        if not any(operation.selection for operation in self.member_operations):
            self.desired.members = self._members(key)

    def _members(self, key: uuid.UUID) -> DesiredMembers | None:
        """Return what the operations ask of the members; reads members only if an operation has a filter."""

        def load(about: set[uuid.UUID] | None) -> list[dict[str, Any]]:
            return members_of(self.caller, [key], about).get(key, [])

        def visible_roles(keys: set[uuid.UUID]) -> set[uuid.UUID]:
            return set(Role.objects.seen_by(self.caller).filter(pk__in=keys).values_list("pk", flat=True))

        return Membership(load, visible_roles).apply(self.member_operations) if self.member_operations else None

    def handle_operations(self, body: dict[str, Any]) -> None:
        """Collect the state that the operations of a PATCH lead to, which `read_operations` has read."""
        if self.obj is None or self.desired is None:
            raise ScimError(404, "There is no such Group.")
        self.requested_values = tuple(self.read_only_values)
        if self.other_operations:
            before = self.to_dict(Query(excluded_attributes=("members",)))
            after = _dump(apply_patch("Group", before, self.other_operations, body.get("schemas")))
            self.requested_values = (_changed_attributes(before, after), *self.read_only_values)
            self.desired.name, self.desired.external_id = after.get("displayName", ""), after.get("externalId", "")
        if self.desired.members is None:
            self.desired.members = self._members(self.obj.pk)

    def save(self) -> None:
        """Call the action for the collected state; raises ScimError (400) if nothing was asked for."""
        if self.desired is None:
            raise ScimError(400, "Nothing was asked for.", "invalidSyntax")
        directory, author = self.caller.directory, self.caller.author
        if self.obj is None:
            self.obj = role_provisioning.add_or_match_role(self.site_id, self.desired, directory, author=author)
        else:
            role_provisioning.change_role(self.obj, self.desired, directory, author=author)

    def delete(self) -> None:
        """Delete the role for this directory; raises ScimError (404) if there is none."""
        if self.obj is None:
            raise ScimError(404, "There is no such Group.")
        role_provisioning.remove_role(self.obj, self.caller.directory, author=self.caller.author)
