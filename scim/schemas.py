"""The schema registry, from which resources are published, validated, filtered, patched and returned."""

from base64 import b64decode
from functools import cache
from typing import Annotated, Any, ClassVar, Union, cast
from unicodedata import normalize

from pydantic import Field, field_validator, model_validator
from scim2_models import (
    URN,
    AttributeBinding,
    CaseExact,
    ComplexAttribute,
    Email,
    EnterpriseUser,
    Extension,
    External,
    GroupMember,
    Manager,
    Mutability,
    Path,
    Reference,
    Required,
    ScimPolicy,
    Uniqueness,
    default_comparison_key,
)
from scim2_models import Group as CoreGroup
from scim2_models import User as CoreUser
from scim2_models import X509Certificate as CoreCertificate
from scim2_models.attributes import ExtensibleStringEnum

from records.accounts.employee_facts import ENTERPRISE, fold_case
from records.sites.text import fold

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
EMPLOYEE = "urn:ietf:params:scim:schemas:extension:employee:2.0:User"
SITE = "urn:ietf:params:scim:schemas:extension:site:2.0:Group"
LIST_RESPONSE = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
BULK_REQUEST = "urn:ietf:params:scim:api:messages:2.0:BulkRequest"
SEARCH_REQUEST = "urn:ietf:params:scim:api:messages:2.0:SearchRequest"
PATCH_OP = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"


def _itself(member: ExtensibleStringEnum, _memo: object) -> ExtensibleStringEnum:
    return member


# Python 3.11.2 copies a member by its name, and does not find a value beyond the canonical ones.
cast(Any, ExtensibleStringEnum).__deepcopy__ = _itself


def comparison_key(binding: AttributeBinding | Any, value: str) -> str:
    """Return the form of a value that filters, sorting and PATCH compare: NFC, and folded unless caseExact.

    A user name, the name of a group and an e-mail address have the form of their key columns.
    """
    if binding.case_exact:
        return normalize("NFC", value)
    model, field = binding.target_model, binding.target_field_name
    has_key = any(field == name and model is not None and issubclass(model, kind) for kind, name in _WITH_KEY)
    return fold(value, trim=False) if has_key else fold_case(value)


POLICY = ScimPolicy(
    unknown=ScimPolicy.Unknown.ignore,
    remove_value_as_filter=ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
    comparison_key=comparison_key,
)
"""What directories may do although the RFCs do not strictly allow it (DECISIONS 7.2)."""
BODY_POLICY = POLICY.model_copy(update={"comparison_key": default_comparison_key})
"""The policy for reading a whole resource.

With another key than its own, the library computes that of every string to refuse those without one; `comparison_key`
has one for each.
"""


class AnyEmail(Email):
    """An e-mail entry with any domain, including special-use domains such as .local."""

    value: str | None = None
    """Email addresses for the user."""


class Certificate(CoreCertificate):
    """A certificate, which must consist of base64 only."""

    @field_validator("value", mode="before")
    @classmethod
    def _refuse_other_text(cls, value: Any) -> Any:
        """Refuse characters that a lenient decoder would skip (RFC 4648, section 3.3); line breaks are allowed."""
        if isinstance(value, str):
            b64decode("".join(value.split()), validate=True)
        return value


UserReference: Any = Reference.__class_getitem__("User")


class LenientManager(Manager):
    """The manager, identified by the id alone; the service builds the reference itself."""

    value: Annotated[str | None, CaseExact.true] = None
    """The id of the User who is this User's manager."""

    ref: UserReference | None = Field(None, serialization_alias="$ref", validation_alias="$ref")
    """The URI of the User who is this User's manager."""

    @model_validator(mode="before")
    @classmethod
    def _read_any_form(cls, value: Any) -> object:
        """Accept also a bare id or a list with one entry, because directories send these too."""
        if isinstance(value, list):
            value = value[0] if value else {}
        return {"value": value} if isinstance(value, str) else value


class EnterpriseExtension(EnterpriseUser):
    """Enterprise attributes of the user."""

    manager: LenientManager | None = None
    """The User's manager."""


class EmployeeExtension(Extension):
    """Employment of the user."""

    __schema__ = URN(EMPLOYEE)

    position: str | None = None
    """Current position of the employee."""

    nature_of_employment: str | None = Field(None, examples=["Employee", "Agency"])
    """Nature of employment, by the name of a list entry, such as Employee or Agency."""

    folder: str | None = None
    """Name of the folder that the employee is filed in."""


class SiteExtension(Extension):
    """Site that the group belongs to."""

    __schema__ = URN(SITE)

    value: Annotated[str | None, Mutability.immutable, CaseExact.true] = None
    """Identifier of the site."""

    @field_validator("value")
    @classmethod
    def _in_lower_case(cls, value: str | None) -> str | None:
        """Return the id as it is stored; case does not matter in an id that is sent."""
        return value and value.lower()

    display_name: Annotated[str | None, Mutability.read_only] = None
    """Name of the site."""


class User(CoreUser[Any]):
    """User Account of a person, who is an employee too."""

    user_name: Annotated[str | None, Uniqueness.server, Required.true] = None
    """Unique identifier of the User, used to sign in."""

    profile_url: Annotated[Reference[External] | None, Mutability.read_only] = None
    """Address of the employee's page in this service."""

    emails: list[AnyEmail] | None = None  # type: ignore[assignment]
    """Email addresses of the user; the primary one is the employee's."""

    Emails: ClassVar[type[ComplexAttribute]] = AnyEmail

    x509_certificates: list[Certificate] | None = None  # type: ignore[assignment]
    """A list of certificates issued to the User."""

    X509Certificates: ClassVar[type[ComplexAttribute]] = Certificate


class Member(GroupMember):
    """A member of a Group: a User or another Group."""

    display: Annotated[str | None, Mutability.immutable] = None
    """Name of the member."""


class Group(CoreGroup):
    """A role of a site."""

    display_name: str | None = None
    """A human-readable name for the Group."""

    members: list[Member] | None = None  # type: ignore[assignment]
    """A list of members of the Group."""

    Members: ClassVar[type[ComplexAttribute]] = Member


_WITH_KEY: tuple[tuple[Any, str], ...] = ((User, "user_name"), (Group, "display_name"), (AnyEmail, "value"))

UserResource: Any = User.__class_getitem__(EmployeeExtension | EnterpriseExtension)
"""A User with both of its extensions."""

GroupResource: Any = Group.__class_getitem__(SiteExtension)
"""A Group with its extension."""

ON_REQUEST = ((SITE, "displayName"), (ENTERPRISE, "manager.displayName"))
"""Attributes that the RFC 7643 shape returns on request only, because strict clients treat them as a change."""

EXTENSIONS: dict[str, tuple[str, ...]] = {"User": (EMPLOYEE, ENTERPRISE), "Group": (SITE,)}
MODELS: dict[str, Any] = {"User": UserResource, "Group": GroupResource}


@cache
def bind(template: Any, *kinds: str) -> Any:
    """Return a message, path or filter for resources of these kinds: `bind(PatchOp, "User")` is `PatchOp[User…]`.

    The result is cached, because creating such a class takes 15 ms and the models keep only weak references to it.
    """
    return template[Union.__getitem__(tuple(MODELS[kind] for kind in kinds))]


def comparable(kind: str, path: str, value: str) -> str:
    """Return the form in which a filter compares a value of the attribute at the path."""
    binding = bind(Path, kind)(path).resolve()
    return comparison_key(binding, value)
