"""The sources of each declared attribute of Users and Groups in the database, for one caller."""

import uuid
from functools import lru_cache

from django.conf import settings
from django.db.models import Case, Exists, F, OuterRef, Q, Subquery, TextField, When
from django.db.models.functions import Coalesce, Concat, NullIf, Trim
from scim2_models.path import CompareOperator

from records.accounts.employee_facts import fold_case
from records.accounts.models import ExternalId, Role, RoleMembership, UserAttribute, UserEmail
from records.sites.text import read_uuid
from scim.attributes import Attributes, Entries, FixedValues, Nothing, Source, Term, Text, flag, moment
from scim.callers import Scope
from scim.expressions import (
    ALWAYS,
    NEVER,
    Condition,
    Fold,
    TextOfId,
    TextOfNumber,
    compare_text,
    text,
)
from scim.schemas import EMPLOYEE, ENTERPRISE, GROUP, SITE, USER
from scim.stored_lists import AttributeEntries, AttributePart, Rows, UserGroups

_SIMPLE = ("nickname", "title", "timezone")
_LISTS = ("phonenumbers", "ims", "photos", "addresses", "entitlements", "roles", "x509certificates")
_ENTERPRISE = ("costcenter", "organization", "division", "department")
CACHED_SCOPES = 64
"""The number of directories and mounts for which the sources are cached."""
_NAME_PARTS = ("middlename", "honorificsuffix")


def as_id(value: str) -> uuid.UUID | None:
    """Return the id for a text in canonical form, otherwise None; an id is caseExact."""
    key = read_uuid(value)
    return key if str(key) == value else None


def _id_source(name: str) -> Text:
    def equals(value: str) -> Condition:
        key = as_id(value)
        return Q(**{name: key}) if key else NEVER

    return Text(TextOfId(F(name)), equals=equals)


def _id_below(prefix: str) -> Text:
    """Return the source of an address that consists of a fixed prefix and the id of the row."""

    def equals(value: str) -> Condition:
        key = as_id(value.removeprefix(prefix)) if value.startswith(prefix) else None
        return Q(pk=key) if key else NEVER

    return Text(Concat(text(prefix), TextOfId(F("pk")), output_field=TextField()), equals=equals)


def _name_source(key: str) -> Text:
    """Return the source of a name that is compared by its folded key, which has no blanks around it."""
    return Text(F(key), equals=lambda value: compare_text(F(key), CompareOperator.eq, value.strip()))


def caseless_text(expression: Term | str) -> Text:
    """Return the source of a text column that is compared without regard to case."""
    return Text(Fold(expression))


def full_name(*parts: str) -> Trim:
    """Return the expression that joins the non-empty columns with one space between them."""
    terms = []
    for part in parts:
        with_space = Concat(F(part), text(" "), output_field=TextField())
        terms.append(Case(When(**{part: ""}, then=text("")), default=with_space, output_field=TextField()))
    return Trim(Concat(text(""), *terms, output_field=TextField()))


def display_name(prefix: str = "") -> Coalesce:
    """Return the expression for an account's display name: its own, or given and family name, or else the user name."""
    return Coalesce(
        NullIf(F(f"{prefix}display_name"), text(""), output_field=TextField()),
        NullIf(full_name(f"{prefix}given_name", f"{prefix}family_name"), text(""), output_field=TextField()),
        F(f"{prefix}user_name"),
        output_field=TextField(),
    )


@lru_cache(maxsize=CACHED_SCOPES)
def user_attributes(caller: Scope) -> Attributes:
    """Return the sources of every attribute of a User; they are cached because they are fixed for each token."""
    users, groups = f"{caller.base}/Users/", f"{caller.base}/Groups/"
    external = ExternalId.objects.filter(directory_id=caller.directory_id)
    manager_key = UserAttribute.objects.filter(
        user_id=OuterRef("pk"), attribute=f"{ENTERPRISE}:manager".lower(), part="value"
    )
    manager = Case(
        When(Exists(manager_key), then=None),
        When(
            employee__reporting_to__user__home_site_id__in=caller.site_ids,
            employee__reporting_to__user__removed__isnull=True,
            then=F("employee__reporting_to__user_id"),
        ),
        default=None,
    )
    given_manager = Subquery(manager_key.values("key")[:1])
    profile = Concat(text(profile_prefix()), TextOfId(F("pk")), text("/change/"), output_field=TextField())
    formatted = Coalesce(
        Subquery(
            UserAttribute.objects.filter(user_id=OuterRef("pk"), attribute="name", part="formatted").values("key")[:1]
        ),
        Fold(full_name("honorific_prefix", "given_name", "family_name")),
        output_field=TextField(),
    )
    enterprise = Exists(UserAttribute.objects.filter(user_id=OuterRef("pk"), attribute__startswith=ENTERPRISE.lower()))
    has_enterprise = Q(enterprise) | ~Q(employee__code="") | Q(employee__reporting_to__user__isnull=False)
    sources: dict[str, Source | Entries | FixedValues] = {
        "id": _id_source("pk"),
        "externalid": Text(
            Coalesce(
                Subquery(external.filter(user_id=OuterRef("pk")).values("value")[:1]),
                text(""),
                output_field=TextField(),
            ),
            equals=lambda value: Q(pk__in=external.filter(value=value).values("user_id")),
        ),
        "username": _name_source("user_name_key"),
        "name.givenname": caseless_text(F("given_name")),
        "name.familyname": caseless_text(F("family_name")),
        "name.honorificprefix": caseless_text(F("honorific_prefix")),
        "name.formatted": Text(formatted),
        "displayname": caseless_text(display_name()),
        "profileurl": Text(profile),
        "usertype": caseless_text(F("user_type")),
        "preferredlanguage": caseless_text(F("preferred_language")),
        "locale": caseless_text(F("locale")),
        "active": flag(F("is_active")),
        "password": Nothing(),
        "schemas": FixedValues(
            ((USER.lower(), ALWAYS), (EMPLOYEE.lower(), ALWAYS), (ENTERPRISE.lower(), has_enterprise))
        ),
        "emails": Rows(
            UserEmail.objects.filter(user_id=OuterRef("pk")),
            {
                "value": Text(F("value_key")),
                "type": caseless_text(F("type")),
                "display": caseless_text(F("display")),
                "primary": flag(F("primary")),
            },
            ("-primary", "idx", "pk"),
        ),
        "groups": UserGroups(
            Role.objects.seen_by(caller),
            {
                "value": _id_source("pk"),
                "$ref": _id_below(groups),
                "display": caseless_text(F("name")),
                "type": Text(F("membership_kind")),
            },
        ),
        **_meta("User", users, F("last_modified")),
        f"{EMPLOYEE}:position".lower(): caseless_text(F("employee__position")),
        f"{EMPLOYEE}:natureofemployment".lower(): caseless_text(F("employee__nature_of_employment__name")),
        f"{EMPLOYEE}:folder".lower(): caseless_text(
            Coalesce(F("employee__entity_folder__name"), text(""), output_field=TextField())
        ),
        f"{ENTERPRISE}:employeenumber".lower(): caseless_text(F("employee__code")),
        f"{ENTERPRISE}:manager.value".lower(): Text(
            Coalesce(
                NullIf(TextOfId(manager), text(""), output_field=TextField()),
                given_manager,
                text(""),
                output_field=TextField(),
            )
        ),
        f"{ENTERPRISE}:manager.$ref".lower(): Text(_reference(users, manager)),
        f"{ENTERPRISE}:manager.displayname".lower(): caseless_text(
            Case(
                When(Q(_is_assigned(manager)), then=display_name("employee__reporting_to__user__")),
                default=text(""),
                output_field=TextField(),
            )
        ),
    }
    for name in _SIMPLE:
        sources.setdefault(name, AttributePart(name, ""))
    for part in _NAME_PARTS:
        sources[f"name.{part}"] = AttributePart("name", part)
    for name in _ENTERPRISE:
        sources[f"{ENTERPRISE}:{name}".lower()] = AttributePart(f"{ENTERPRISE}:{name}".lower(), "")
    for name in _LISTS:
        sources[name] = AttributeEntries(name)
    return sources


def _is_assigned(identifier: object) -> Q:
    return ~Q(Text(TextOfId(identifier)).compare(CompareOperator.eq, None))


def _reference(prefix: str, identifier: object) -> Case:
    return Case(
        When(_is_assigned(identifier), then=Concat(text(prefix), TextOfId(identifier), output_field=TextField())),
        default=text(""),
        output_field=TextField(),
    )


def profile_prefix() -> str:
    """Return the prefix of the addresses of employees' back-office pages."""
    return f"{settings.BASE_URL}/admin/employees/employee/"


def _meta(kind: str, prefix: str, last_modified: Term) -> dict[str, Source]:
    return {
        "meta.resourcetype": Text(text(kind)),
        "meta.created": moment(F("created")),
        "meta.lastmodified": moment(last_modified),
        "meta.location": _id_below(fold_case(prefix)),  # The address is not caseExact.
        "meta.version": Text(
            Concat(text('W/"'), TextOfNumber(F("revision")), text('"'), output_field=TextField()),
        ),
    }


@lru_cache(maxsize=CACHED_SCOPES)
def group_attributes(caller: Scope) -> Attributes:
    """Return the sources of every attribute of a Group; they are cached in the same way."""
    groups, users = f"{caller.base}/Groups/", f"{caller.base}/Users/"
    is_own = Q(directory_id=caller.directory_id)
    member = Coalesce(F("user_id"), F("member_role_id"))
    display = Case(
        When(~Q(display=""), then=F("display")),
        When(user__isnull=False, then=display_name("user__")),
        default=Coalesce(F("member_role__name"), text(""), output_field=TextField()),
        output_field=TextField(),
    )

    def has_member(value: str) -> Condition:
        key = as_id(value)
        return Q(user_id=key) | Q(member_role_id=key) if key else NEVER

    return {
        "id": _id_source("pk"),
        "externalid": Text(
            Case(When(is_own, then=F("external_id")), default=text(""), output_field=TextField()),
            equals=lambda value: is_own & Q(external_id=value),
        ),
        "displayname": _name_source("name_key"),
        "schemas": FixedValues(((GROUP.lower(), ALWAYS), (SITE.lower(), ALWAYS))),
        "members": Rows(
            RoleMembership.objects.seen_by(caller).filter(role_id=OuterRef("pk")),
            {
                "value": Text(TextOfId(member), equals=has_member),
                "$ref": Text(
                    Concat(
                        Case(
                            When(user__isnull=False, then=text(users)), default=text(groups), output_field=TextField()
                        ),
                        TextOfId(member),
                        output_field=TextField(),
                    )
                ),
                "display": caseless_text(display),
                "type": Text(Case(When(user__isnull=False, then=text("user")), default=text("group"))),
            },
            ("created", "pk"),
        ),
        **_meta("Group", groups, F("last_modified")),
        f"{SITE}:value".lower(): _id_source("site_id"),
        f"{SITE}:displayname".lower(): caseless_text(F("site__name")),
    }
