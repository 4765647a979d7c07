"""People as a directory sees them: an account and an employee with the same Id, written together."""

import uuid
from dataclasses import dataclass, replace
from typing import Any

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db.models import F

from records.accounts import provisioning as accounts
from records.accounts.authority import NotAllowedError
from records.accounts.employee_facts import follow_employee
from records.accounts.models import Directory, ExternalId, User
from records.accounts.provisioning import DesiredAccount
from records.accounts.role_provisioning import lock_roles_of
from records.employees.actions import check_reporting_to, facts_of
from records.employees.models import Employee
from records.history.trail import Author, now, recording
from records.sites.actions import folder_named
from records.sites.models import Entity, EntityFolder
from records.sites.text import fault_at, fold
from records.sites.writing import Values, add_record, apply, changing


@dataclass(slots=True)
class DesiredPerson:
    """The complete desired state of a person: of the account and of the employee.

    None keeps the employee's present value. A new employee gets the default (`default_position` for the position).
    """

    account: DesiredAccount
    position: str | None = None
    default_position: str = "Employee"
    nature_of_employment: str | None = None
    folder: str | None = None
    code: str | None = None
    manager: uuid.UUID | None = None
    keeps_manager: bool = False
    phone: str | None = None
    mobile: str | None = None
    address: str | None = None


def add_person(desired: DesiredPerson, directory: Directory, *, author: Author) -> User:
    """Add an account with its employee at the directory's home site, or give an existing employee an account.

    The latter happens only if the directory is set to match employees by code (DECISIONS 7.3). Raises ValidationError.
    """
    with recording():
        employee = _matching_employee(desired, directory)
        if employee is not None:
            user = accounts.add_account(employee.pk, desired.account, directory, author=author)
            values = {**_values(desired, employee.site_id, author), "user": user}
            employee_now = _write_employee(employee.pk, employee.site_id, values, author)
            facts = facts_of(employee_now)
            desired_facts = replace(
                facts, phone=desired.phone or "", mobile=desired.mobile or "", address=desired.address or ""
            )
            follow_employee(user.pk, desired_facts, facts, author=author)
            _touch_reports(employee.pk)
            return lock_person(user.pk, directory).user
        user = accounts.add_account(uuid.uuid4(), desired.account, directory, author=author)
        values = {**_defaults(desired), **_values(desired, directory.home_site_id, author), "user": user}
        employee = Employee(id=user.pk, site_id=directory.home_site_id)
        _drop_invalid_superior(employee, values)
        add_record(employee, values, author=author, operation="AddUser", skip=["reporting_to", "user"])
    return user


_POINTS_AT = ("title", "nature_of_employment", "entity_folder", "reporting_to")


@dataclass(frozen=True, slots=True)
class Person:
    """A locked person: employee and account, which refer to each other, and the directory's id for the person."""

    employee: Employee
    user: User
    external: ExternalId | None


def lock_person(user_id: uuid.UUID, directory: Directory, *, is_leaving: bool = False) -> Person:
    """Lock a person's employee and account, in this order, as every writer does; raises User.DoesNotExist.

    If the person leaves (`is_leaving`), their roles are locked first, because writers of members lock roles before
    people. What the SCIM resource shows is loaded too: addresses, and the records that the employee refers to.
    """
    if is_leaving:
        lock_roles_of(user_id)
    relations = ("title", "nature_of_employment", "entity_folder", "reporting_to__user")
    employees = Employee.objects.select_for_update(of=("self",), no_key=True).select_related(*relations)
    try:
        employee = employees.get(user_id=user_id)
    except Employee.DoesNotExist as error:
        raise User.DoesNotExist from error
    user = User.objects.select_for_update(of=("self",), no_key=True).prefetch_related("emails").get(pk=user_id)
    user.employee = employee
    return Person(employee, user, ExternalId.objects.filter(directory=directory, user=user).first())


def change_person(person: Person, desired: DesiredPerson, directory: Directory, *, author: Author) -> None:
    """Change a locked person to the desired state; if nothing differs, nothing is written.

    Raises ValidationError, or NotAllowedError if this directory may not change the account.
    """
    employee, user, account = person.employee, person.user, desired.account
    if account.active and not user.is_active and employee.is_archived:
        raise NotAllowedError("The employee is archived; a Manager restores it in the back-office first.")
    with recording():
        # The title changes only if the directory's prefix has changed: people may have set another title here.
        has_new_title = account.honorific_prefix != user.honorific_prefix
        has_changed_account = accounts.change_account(
            user, account, directory, person.external, author=author, operation="UpdateUser"
        )
        values = _values(desired, employee.site_id, author, has_new_title=has_new_title)
        if all(getattr(employee, name) == value for name, value in values.items()):
            return
        employee_now = _write_employee(employee.pk, employee.site_id, values, author)
        for name in _POINTS_AT:
            if getattr(employee_now, f"{name}_id") == getattr(employee, f"{name}_id"):
                setattr(employee_now, name, getattr(employee, name))
        user.employee = employee_now
        if employee_now.revision != employee.revision and not has_changed_account:
            accounts.touch(user)


def remove_person(person: Person, directory: Directory, *, author: Author) -> None:
    """End a locked person's account permanently and archive the employee, whose record and history stay."""
    employee, user = person.employee, person.user
    with recording():
        accounts.remove_account(user, directory, author=author)
        with changing(
            Employee, employee.site_id, employee.pk, author=author, operation="RemoveUser"
        ) as locked_employee:
            locked_employee.is_archived = True
        _touch_reports(employee.pk)


def _touch_reports(employee_id: uuid.UUID) -> None:
    """Give the accounts of those who report to the employee a new version, because a person appeared or disappeared."""
    reports = User.objects.filter(employee__reporting_to_id=employee_id).order_by("pk")
    keys = list(reports.select_for_update(of=("self",), no_key=True).values_list("pk", flat=True))
    if keys:
        User.objects.filter(pk__in=keys).update(revision=F("revision") + 1, last_modified=now())


def _matching_employee(desired: DesiredPerson, directory: Directory) -> Employee | None:
    codes = [code for code in (desired.code, desired.account.external_id) if code]
    if not directory.matches_by_code or not codes:
        return None
    matches = (
        Employee.objects.at(directory.home_site_id)
        .select_for_update(of=("self",), no_key=True)
        .filter(user__isnull=True, is_archived=False, code__in=codes)[:2]
    )
    return matches[0] if len(matches) == 1 else None


def _write_employee(key: uuid.UUID, site_id: uuid.UUID, values: Values, author: Author) -> Employee:
    with changing(
        Employee, site_id, key, author=author, operation="UpdateUser", skip=["reporting_to", "user"]
    ) as employee:
        _drop_invalid_superior(employee, values)
        apply(employee, values)
    return employee


def _drop_invalid_superior(employee: Employee, values: Values) -> None:
    """Ignore a superior whom the employee cannot have, so that the directory's other changes do not fail."""
    try:
        check_reporting_to(employee, employee.site_id, values)
    except ValidationError:
        del values["reporting_to"]


def _values(desired: DesiredPerson, site_id: uuid.UUID, author: Author, *, has_new_title: bool = True) -> Values:
    """Return the employee's values that the desired state contains; the title only if its text has changed."""
    account = desired.account
    values: Values = {
        "first_name": account.given_name,
        "last_name": account.family_name,
        "email_address": account.email,
    }
    if has_new_title:
        values["title"] = _entry("Title", account.honorific_prefix)
    for name in ("position", "code", "phone", "mobile", "address"):
        if getattr(desired, name) is not None:
            values[name] = getattr(desired, name)
    if desired.nature_of_employment is not None:
        values["nature_of_employment"] = _nature(desired.nature_of_employment)
    if desired.folder is not None:
        values["entity_folder"] = _folder(site_id, desired.folder, author) if desired.folder else None
    if not desired.keeps_manager:
        values["reporting_to"] = _superior(desired.manager) if desired.manager else None
    return values


def superior_fault(user_id: uuid.UUID | None, superior_id: uuid.UUID, site_id: uuid.UUID) -> str:
    """Return why one person cannot report to the other; '' if they can.

    `user_id` is None for a person who is about to be added. Waits for other transactions that are setting a superior.
    """
    employee = Employee(site_id=site_id) if user_id is None else Employee.objects.filter(user_id=user_id).first()
    superior = _superior(superior_id)
    if employee is None or superior is None:
        return "There is no such employee."
    try:
        check_reporting_to(employee, employee.site_id, {"reporting_to": superior})
    except ValidationError as fault:
        return " ".join(fault.messages)
    return ""


def _superior(user_id: uuid.UUID) -> Employee | None:
    return Employee.objects.select_related("user").filter(user_id=user_id).first()


def _defaults(desired: DesiredPerson) -> Values:
    """Return the values of a new employee that the desired state does not contain."""
    nature = {} if desired.nature_of_employment is not None else {"nature_of_employment": _nature("Employee")}
    return {"position": desired.default_position, **nature}


def _entry(model: str, name: str) -> Any:
    """Return the entry of a system list with this name in any case, preferably an active one; None if there is none."""
    if not name:
        return None
    entries = apps.get_model("reference", model)._default_manager.filter(is_archived=False)
    key = fold(name.strip().rstrip("."))
    return next((entry for entry in entries if fold(entry.name.rstrip(".")) == key), None)


def _nature(name: str) -> Any:
    entry = _entry("NatureOfEmployment", name)
    if entry is None:
        names = apps.get_model("reference", "NatureOfEmployment")._default_manager.filter(is_archived=False)
        names_text = ", ".join(str(entry) for entry in names)
        raise fault_at("nature_of_employment", f"{name!r} is none of: {names_text}.", "InvalidReference")
    return entry


def _folder(site_id: uuid.UUID, name: str, author: Author) -> EntityFolder:
    """Return the site's topmost employee folder with this name; it is added at its first use (DECISIONS 7.3)."""
    try:
        return folder_named(site_id, Entity.EMPLOYEE, name, author=author)
    except ValidationError as fault:
        raise ValidationError({"entity_folder": fault.messages}) from fault
