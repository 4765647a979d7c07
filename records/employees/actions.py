"""Writes to employees and job descriptions, each one transaction with its history."""

import uuid
from typing import Unpack

from django.db import connection
from django.db.models import F
from django.utils.translation import gettext

from records.accounts.actions import add_user, end_access, set_members
from records.accounts.authority import Act, actor_of, require
from records.accounts.employee_facts import EmployeeFacts, follow_employee
from records.accounts.models import DefaultRole, Role, User
from records.accounts.names import check_address
from records.employees.models import Employee, JobDescription
from records.history.statements import Statement, new_row, parameter, together
from records.history.trail import Author, now, recording
from records.sites.targets import errors_of
from records.sites.text import fault_at, is_blank, refuse
from records.sites.writing import Values, WriteArgs, add_record, apply, archive_record, changing

REPORTING = 1
"""The number of the advisory lock that every change of a superior takes. Only this lock here has two keys."""


def add_employee(
    site_id: uuid.UUID,
    values: Values,
    *,
    author: Author,
    operation: str = "AddEmployee",
    key: uuid.UUID | None = None,
    reason: str = "",
) -> Employee:
    """Add an employee to the site; `key` sets the Id (an account's). Raises ValidationError."""
    employee = new_row(Employee, site_id=site_id, **({} if key is None else {"id": key}))

    def check(_: object) -> None:
        check_new_address(employee, values)
        check_reporting_to(employee, site_id, values)

    def follow(employee: Employee) -> None:
        if employee.user_id is not None:
            follow_employee(employee.user_id, EmployeeFacts(), facts_of(employee), author=author)

    return add_record(
        employee,
        values,
        author=author,
        operation=operation,
        reason=reason,
        skip=["reporting_to", "user"],
        check=check,
        followed_by=follow,
    )


def update_employee(
    site_id: uuid.UUID,
    employee_id: uuid.UUID,
    values: Values,
    *,
    operation: str = "UpdateEmployee",
    **options: Unpack[WriteArgs],
) -> Employee:
    """Change an employee. Raises RecordNotFoundError, ValidationError, or what the precondition raises."""
    before = EmployeeFacts()

    def follow(employee: Employee) -> None:
        if employee.user_id is not None:
            follow_employee(employee.user_id, before, facts_of(employee), author=options["author"])

    with changing(
        Employee,
        site_id,
        employee_id,
        operation=operation,
        skip=["reporting_to", "user"],
        followed_by=follow,
        **options,
    ) as employee:
        if employee.user_id is not None:
            before = facts_of(employee)
        had_family_name = not is_blank(employee.last_name)
        check_new_address(employee, values)
        check_reporting_to(employee, site_id, values)
        apply(employee, values)
        if had_family_name and is_blank(employee.last_name):
            raise fault_at("last_name", gettext("This field is required."), "RequiredField")
    return employee


def facts_of(employee: Employee) -> EmployeeFacts:
    """Return the employee's values that its account also has."""
    return EmployeeFacts(
        given_name=employee.first_name,
        family_name=employee.last_name,
        title=employee.title.name if employee.title else "",
        email=employee.email_address,
        phone=employee.phone,
        mobile=employee.mobile,
        address=employee.address,
        manager=employee.reporting_to_id,
    )


def give_account(
    site_id: uuid.UUID,
    employee_id: uuid.UUID,
    user_name: str,
    *,
    role: DefaultRole | None = None,
    author: Author,
    reason: str,
) -> User:
    """Give an employee without an account one with the same Id and, if a role is named, the site's default role.

    The account has no usable password yet: the person chooses one with a mailed link. Raises RecordNotFoundError, or
    ValidationError if the name is in use, the employee is archived, or there is an account already.
    """
    operation = "GiveAccount"
    with recording():
        with changing(
            Employee, site_id, employee_id, author=author, operation=operation, reason=reason, skip=["user"]
        ) as employee:
            if employee.user_id is not None:
                raise refuse(gettext("This employee has an account already."))
            if employee.is_archived:
                raise refuse(gettext("Restore the employee before you give an account."))
            user = User(
                id=employee.pk,
                user_name=user_name,
                given_name=employee.first_name,
                family_name=employee.last_name,
                email=employee.email_address,
                home_site_id=site_id,
            )
            add_user(user, author=author, operation=operation, reason=reason)
            employee.user = user
        follow_employee(user.pk, EmployeeFacts(), facts_of(employee), author=author)
        if role is not None:
            default_role = Role.objects.at(site_id).get(default_role=role)
            set_members(default_role, add=[user], author=author, reason=reason)
    user.refresh_from_db()
    return user


def archive_employee(
    site_id: uuid.UUID,
    employee_id: uuid.UUID,
    *,
    archived: bool,
    author: Author,
    reason: str,
) -> Employee:
    """Archive or restore an employee, with a reason. Raises RecordNotFoundError.

    Archiving ends the access of the employee's account in the same transaction, except that only superusers can end a
    superuser's access (DECISIONS 13.1). Restoring the employee does not restore the access (DECISIONS 5).
    """
    with recording():
        employee = archive_record(Employee, site_id, employee_id, archived=archived, author=author, reason=reason)
        if archived and employee.user_id is not None:
            account = User.objects.get(pk=employee.user_id)
            if account.is_superuser:
                require(actor_of(author), Act.END_ACCESS, account)
            end_access(account, author=author, reason=reason)
    return employee


def check_new_address(employee: Employee, values: Values) -> None:
    """Raise ValidationError if the values have another e-mail address, and nobody may have it (`check_address`)."""
    address = values.get("email_address", employee.email_address)
    if address != employee.email_address:
        check_address(address, "email_address")


def check_reporting_to(employee: Employee, site_id: uuid.UUID, values: Values) -> None:
    """Raise ValidationError if the new superior is not valid at the site or would create a cycle (DECISIONS 1.11, 2.6).

    Waits for other transactions that are setting a superior.
    """
    superior: Employee | None = values.get("reporting_to")
    if superior is None or superior.pk == employee.reporting_to_id:
        return
    above = [row[0] for row in together([*_locking_reporting(), _above(superior.pk)])[-1]]
    fault = errors_of(Employee, [superior], site_id, Employee).get(superior.pk, "")
    if superior.pk == employee.pk:
        fault = gettext("Nobody can report to themselves.")
    elif not fault and parameter(employee.pk) in above:
        fault = gettext(
            "%(superior)s cannot be the superior of %(employee)s, because %(superior)s already reports to "
            "%(employee)s, directly or through others."
        ) % {"superior": superior, "employee": employee}
    if fault:
        raise fault_at("reporting_to", fault, "InvalidReference")


def lock_reporting() -> None:
    """Let only one transaction at a time change who reports to whom, so that two together cannot create a cycle.

    The lock is the same for all sites, because a superior can belong to another site. A transaction that changes
    several employees takes it after their rows and before the site's numbers. SQLite has only one writer anyway.
    """
    together(_locking_reporting())


def _locking_reporting() -> list[Statement]:
    return [("SELECT pg_advisory_xact_lock(%s, 0)", [REPORTING])] if connection.vendor == "postgresql" else []


def _above(employee_id: uuid.UUID) -> Statement:
    """Return the statement that reads the ids of an employee and of all of the employee's superiors."""
    table = connection.ops.quote_name(Employee._meta.db_table)
    sql = f"""
WITH RECURSIVE above AS (
    SELECT id, reporting_to_id FROM {table} WHERE id = %s
    UNION SELECT e.id, e.reporting_to_id FROM {table} e JOIN above a ON e.id = a.reporting_to_id)
SELECT id FROM above"""  # noqa: S608 (no outside text)
    return sql, [parameter(employee_id)]


def add_job_description(
    site_id: uuid.UUID, values: Values, *, author: Author, operation: str = "AddJobDescription", reason: str = ""
) -> JobDescription:
    """Add a job description to the site. Raises ValidationError."""
    holders = {holder.pk for holder in values.get("employees", ())}
    return add_record(
        new_row(JobDescription, site_id=site_id),
        values,
        author=author,
        operation=operation,
        reason=reason,
        followed_by=lambda _: touch_holders(set(), holders, author),
    )


def update_job_description(
    site_id: uuid.UUID,
    record_id: uuid.UUID,
    values: Values,
    *,
    operation: str = "UpdateJobDescription",
    **options: Unpack[WriteArgs],
) -> JobDescription:
    """Change a job description (back-office and import only). Raises RecordNotFoundError or ValidationError."""
    with changing(JobDescription, site_id, record_id, operation=operation, **options) as record:
        before = set(record.employees.values_list("pk", flat=True))
        apply(record, values)
        touch_holders(before, set(record.employees.values_list("pk", flat=True)), options["author"])
    return record


def touch_holders(before: set[uuid.UUID], after: set[uuid.UUID], author: Author) -> None:
    """Stamp the employees whose job descriptions changed, because their answers show them; the Change is the job's."""
    keys = before ^ after
    if keys:
        Employee.objects.filter(pk__in=keys).update(
            revision=F("revision") + 1, last_modified=now(), last_modified_by_id=author.id
        )
