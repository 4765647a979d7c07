"""Plain functions that make records for tests, through the actions that the product uses."""

import itertools
import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Permission
from django.db import connection

from records.accounts import actions as account_actions
from records.accounts import keys
from records.accounts.models import DefaultRole, Role, SubscriptionKey, User
from records.employees import actions as employee_actions
from records.employees.models import Employee, JobDescription
from records.history.trail import Author, Channel, now
from records.reference.models import EducationResult, NatureOfEmployment
from records.sites.models import Entity, EntityFolder, Site
from records.sites.writing import archive_record

SYSTEM = Author(None, "Test", Channel.SYSTEM)
PASSWORD = "correct-horse-battery"
_counter = itertools.count(1)


def make_site(name: str = "", **fields: Any) -> Site:
    """Make a site with its default roles."""
    return account_actions.add_site(Site(name=name or f"Site {next(_counter)}", **fields), author=SYSTEM)


def make_user(user_name: str = "", *, site: Site | None = None, role: DefaultRole | None = None, **fields: Any) -> User:
    """Make an account, as a member of a default role of the site where one is named."""
    name = user_name or f"user{next(_counter)}"
    values = {"given_name": "Uma", "family_name": name.title(), "home_site": site, **fields}
    user = account_actions.add_user(User(user_name=name, **values), author=SYSTEM, password=PASSWORD)
    if site is not None and role is not None:
        give_role(user, site, role)
    return user


def give_role(user: User, site: Site, role: DefaultRole) -> None:
    """Make the user a member of the site's default role."""
    account_actions.set_members(Role.objects.get(site=site, default_role=role), add=[user], author=SYSTEM)


def make_role(site: Site, permissions: Iterable[str], members: Sequence[User] = (), name: str = "") -> Role:
    """Make a role of the site with the permissions (as `app.codename`) and members."""
    permission_rows = [
        Permission.objects.get(content_type__app_label=app, codename=codename)
        for app, codename in (permission.split(".") for permission in permissions)
    ]
    role = Role(site=site, name=name or f"Role {next(_counter)}")
    account_actions.add_role(role, permissions=permission_rows, author=SYSTEM)
    account_actions.set_members(role, add=members, author=SYSTEM)
    return role


@dataclass
class Key:
    """A subscription key with its user, site and secret."""

    user: User
    site: Site
    secret: str

    @property
    def headers(self) -> dict[str, str]:
        """Return the header that carries the key."""
        return {"Ocp-Apim-Subscription-Key": self.secret}


def make_key(site: Site, role: DefaultRole = DefaultRole.MANAGER, *, user: User | None = None) -> Key:
    """Make a key of a user with the role at the site."""
    holder = user or make_user(site=site, role=role)
    key, secret = keys.issue_key(holder, site, "Test key", author=SYSTEM)
    # Used before, since the first use of a key leaves a Change of its own.
    SubscriptionKey.objects.filter(pk=key.pk).update(last_used=now() - timedelta(days=1))
    return Key(holder, site, secret)


def author_of(user: User) -> Author:
    """Return an author for changes made by the user in a test."""
    return Author(user.pk, user.printed_name, Channel.JSON, "Test key")


def archive(record: Any, *, archived: bool = True, reason: str = "Old") -> Any:
    """Archive a record, or restore it, and return it as it is then."""
    site_id: Any = getattr(record, "site_id", None)
    return archive_record(type(record), site_id, record.pk, archived=archived, author=SYSTEM, reason=reason)


def make_folder(site: Site, entity: Entity = Entity.EMPLOYEE, name: str = "", **fields: Any) -> EntityFolder:
    """Make a folder of an entity at the site."""
    return EntityFolder.objects.create(site=site, entity=entity, name=name or f"Folder {next(_counter)}", **fields)


def nature(name: str = "Employee") -> NatureOfEmployment:
    """Return the nature of employment of that name."""
    return NatureOfEmployment.objects.get(name=name)


def education_result() -> EducationResult:
    """Return one of the results of a course or training."""
    return EducationResult.objects.order_by("idx", "name").first() or EducationResult.objects.create(name="Passed")


def employee_body(**fields: Any) -> dict[str, Any]:
    """Return a body for AddEmployee with the required fields."""
    body = {
        "FirstName": "Ada",
        "LastName": "Baker",
        "NatureOfEmploymentId": str(nature().pk),
        "Position": "Line lead",
    }
    return {**body, **fields}


def make_employee(site: Site, **fields: Any) -> Employee:
    """Make an employee at the site; `id` sets the Id."""
    key: uuid.UUID | None = fields.pop("id", None)
    values = {
        "first_name": "Ada",
        "last_name": f"Baker {next(_counter)}",
        "nature_of_employment": nature(),
        "position": "Line lead",
        **fields,
    }
    return employee_actions.add_employee(site.pk, values, author=SYSTEM, key=key)


def make_job_description(site: Site, **fields: Any) -> JobDescription:
    """Make a job description at the site."""
    values = {"name": f"Job {next(_counter)}", **fields}
    return employee_actions.add_job_description(site.pk, values, author=SYSTEM)


def at_once(*acts: Callable[[], Any]) -> list[Any]:
    """Run functions at the same moment, each with a connection of its own; return each one's result or exception.

    The test needs `django_db(transaction=True)`.
    """
    barrier = threading.Barrier(len(acts))

    def run(act: Callable[[], Any]) -> Any:
        try:
            barrier.wait(30)
            return act()
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))
