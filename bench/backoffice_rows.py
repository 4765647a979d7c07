"""The rows for the measurement of the back-office: one site with so many records of each kind, stored by SQL.

PostgreSQL computes every row from its number `n`, so that a million rows take a minute and not an hour. What a row
points at is computed as well: the Id of the n-th row of a model is a digest of the model's table and of n.
"""

from datetime import timedelta
from typing import Any

from django.core.management import call_command
from django.db import connection

from bench.rows import sql
from documents.models import Document, DocumentVersion, Reading
from materials.models import Material
from records.accounts.actions import set_members
from records.accounts.models import User
from records.actions.models import Action
from records.attachments.models import Attachment
from records.audits.models import AuditProgram, AuditRecord
from records.complaints.models import Complaint, UnitsSold
from records.customers.models import Customer
from records.employees.models import Course, EducationTraining, Employee, JobDescription
from records.history.models import ChainHead, Change, Channel
from records.history.trail import now
from records.items.models import Item
from records.reference.models import Cause, MaterialCategory, Nonconformance, Product
from records.retention.actions import SET
from records.sites.models import Entity, EntityFolder, Site, SiteSequence
from tests import make

NAME = "Bench Mill"
ADJECTIVES = ("Brown", "Rye", "Salted", "Golden", "Smoked", "Organic", "Fine", "Coarse", "Northern", "Old")
NOUNS = ("Flour", "Butter", "Sesame", "Malt", "Honey", "Barley", "Yeast", "Cream", "Cocoa", "Oats")
READERS = 100
"""How many people must read each document that must be read."""
HOLDS = 200


def _one_of(words: tuple[str, ...], number: str) -> str:
    return f"(ARRAY{list(words)})[1 + mod({number}, {len(words)})]"


ADJECTIVE, NOUN = _one_of(ADJECTIVES, "n"), _one_of(NOUNS, "n / 10")
RARE = "lpad(to_hex(n), 6, '0')"
WORDS = f"{ADJECTIVE} || ' ' || {NOUN} || ' ' || {RARE}"
"""A name: some of its words come often, the last one once."""


def key(model: Any, number: str = "n") -> str:
    """Return the expression for the Id of the model's row with a number, which counts from 1."""
    return f"md5('{model._meta.db_table} ' || ({number}))::uuid"


def turning(model: Any, count: int, number: str = "n") -> str:
    """Return the expression for the Ids of the first `count` rows of the model, one after the other."""
    return key(model, f"1 + mod({number}, {count})")


def store(model: Any, count: int, columns: dict[str, str], /, **fields: Any) -> None:
    """Store rows from 1 to `count`: `columns` are expressions of `n`, `fields` values that all rows share."""
    row, expressions, parameters = model(**fields), {}, []
    for field in model._meta.concrete_fields:
        if field.column in columns:
            expressions[field.column] = columns[field.column]
        elif field.primary_key and field.get_internal_type() == "UUIDField":
            expressions[field.column] = key(model)
        elif field.column == "site_sequence_id":
            expressions[field.column] = "n"
        elif getattr(field, "source", None) in columns:
            # The folded copy of a text of ASCII letters.
            expressions[field.column] = f"lower({columns[field.source]})"
        elif not field.primary_key:
            expressions[field.column] = "%s"
            parameters.append(field.get_db_prep_save(getattr(row, field.attname), connection))
    names = ", ".join(f'"{name}"' for name in expressions)
    select = f"SELECT {', '.join(expressions.values())} FROM generate_series(1, {count}) n"  # noqa: S608
    sql(f"INSERT INTO {model._meta.db_table} ({names}) {select}", *parameters)
    if hasattr(model, "ENTITY"):
        SiteSequence.objects.update_or_create(site=fields["site"], entity=model.ENTITY, defaults={"last": count})


def fill(rows: int, beside: int) -> Site:
    """Migrate and store the site, unless a run before did: `rows` of each kind, `beside` of some (see BENCH_BESIDE)."""
    call_command("migrate", verbosity=0)
    if site := Site.objects.filter(name=NAME).first():
        return site
    site = make.make_site(NAME)
    # To make all indexes anew afterwards, and to believe that every row exists to which another one points, is much
    # faster than to do both row by row.
    indexes = sql(
        "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid)"
        " FROM pg_index JOIN pg_class c ON c.oid = indrelid"
        " WHERE c.relnamespace = 'public'::regnamespace AND indexrelid NOT IN (SELECT conindid FROM pg_constraint)"
    )
    for name, _ in indexes:
        sql(f"DROP INDEX {name}")
    sql("SET session_replication_role = replica")
    _records(site, rows, beside)
    _follow_up(site, rows, beside)
    _training(site, rows, beside)
    _history(site, rows, beside)
    sql("SET session_replication_role = origin")
    sql("SET maintenance_work_mem = '512MB'")
    for _, definition in indexes:
        sql(definition)
    # A table that was just filled has no map of visible rows, which scans of an index alone need.
    sql("VACUUM ANALYZE")
    return site


def _midnight() -> str:
    return f"timestamptz '{now():%Y-%m-%d} 00:00Z'"


def _records(site: Site, rows: int, beside: int) -> None:
    folders = [EntityFolder(site=site, entity=Entity.CUSTOMER, name=f"Folder {n}") for n in range(100)]
    EntityFolder.objects.bulk_create(folders)
    folder_ids = ", ".join(f"'{folder.pk}'" for folder in folders)
    entry = {"name": WORDS, "idx": "n"}
    store(Product, beside, {**entry, "code": "'P' || to_char(n, 'fm000000')"}, site=site)
    store(Nonconformance, 200, {**entry, "code": "'N' || n"}, site=site)
    store(Cause, 50, {**entry, "code": "'R' || n"}, site=site)
    store(MaterialCategory, 50, {**entry, "code": "'C' || n"}, site=site)
    folder = f"(ARRAY[{folder_ids}]::uuid[])[1 + mod(n, 100)]"
    store(
        Customer,
        beside,
        {"name": WORDS, "code": "'K' || to_char(n, 'fm000000')", "entity_folder_id": folder},
        site=site,
    )
    scale = {"name": f"'Scale ' || {WORDS}", "code": "'I' || to_char(n, 'fm000000')", "serial_number": "'SN' || n"}
    store(Item, beside, scale, site=site)
    store(
        Material,
        beside,
        {
            "name": WORDS,
            "external_id": "'ERP-' || to_char(mod(n * 7919::bigint, 100000000), 'fm000000000')",
            "our_code": "'OC-' || mod(n, 5000)",
            "supplier_code": f"'SUP-' || {RARE}",
            "material_category_id": turning(MaterialCategory, 50),
            "risk": "CASE mod(n, 7) WHEN 0 THEN 'High' ELSE '' END",
        },
        site=site,
    )
    # One complaint in five minutes: 100,000 of them lie within the last twelve months, which the charts show at first.
    age, waits = f"({rows} - n)", f"n >= {rows} * 0.98"
    response_time = f"greatest({age} / 288 - mod(n, 40), 0)"
    store(
        Complaint,
        rows,
        {
            "record_status": f"CASE WHEN {waits} THEN 'Awaiting Review' ELSE 'Completed' END",
            "date": f"{_midnight()} + interval '8 hours' - {age} * interval '5 minutes'",
            "customer_id": turning(Customer, beside),
            "product_id": turning(Product, beside, "n * 31::bigint"),
            "nonconformance_id": turning(Nonconformance, 200),
            "cause_id": f"CASE WHEN mod(n, 3) > 0 AND NOT ({waits}) THEN {turning(Cause, 50)} END",
            "trace_number": "'L' || to_char(n, 'fm000000') || '-' || mod(n, 7)",
            "consumer_last_name": WORDS,
            "complaint_description": f"'A piece of blue plastic in the crumb of ' || {WORDS} || '; the rest was kept.'",
            "severity": _one_of(("Minor", "Major", "Critical"), "n"),
            "target_date": f"{_midnight()} - ({age} / 288 - 14) * interval '1 day'",
            "answered_on": f"CASE WHEN NOT ({waits}) THEN {_midnight()} - {response_time} * interval '1 day' END",
        },
        site=site,
        review_report="Seen to.",
    )
    store(
        Employee,
        beside,
        {
            "first_name": ADJECTIVE,
            "last_name": f"{NOUN} || ' ' || {RARE}",
            "code": "'E' || to_char(n, 'fm000000')",
            "email_address": "'e' || n || '@example.com'",
        },
        site=site,
        position="Baker",
        nature_of_employment=make.nature(),
    )
    store(JobDescription, rows // 10, {"name": WORDS, "code": "'J' || to_char(n, 'fm000000')"}, site=site)
    document = {"name": f"'Procedure ' || {WORDS}", "file_name": "'p' || n || '.pdf'"}
    in_force = f"CASE WHEN n <= {max(1, rows // READERS)} THEN 1 END"
    store(Document, beside, {**document, "effective_version": in_force}, site=site, file_type="application/pdf")
    programs = max(1, rows // 100)
    store(AuditProgram, programs, {"name": f"'Audit ' || {WORDS}"}, site=site, type="Internal")
    store(
        AuditRecord,
        beside,
        {
            "audit_program_id": turning(AuditProgram, programs),
            "record_status": "CASE WHEN mod(n, 50) = 0 THEN 'Scheduled' ELSE 'Completed' END",
            "due_date": f"{_midnight()} - mod(n, 400) * interval '1 day'",
            "finish_date": f"CASE WHEN mod(n, 50) > 0 THEN {_midnight()} - mod(n, 400) * interval '23 hours' END",
            "score": "CASE WHEN mod(n, 50) > 0 THEN 60 + mod(n, 40) END",
        },
        site=site,
    )
    person = {"given_name": ADJECTIVE, "family_name": f"{NOUN} || ' ' || {RARE}", "id": key(Employee)}
    names = {"user_name": "'user' || n", "user_name_key": "'user' || n"}
    store(User, max(READERS, rows // 20), {**person, **names}, home_site=site)


def _follow_up(site: Site, rows: int, beside: int) -> None:
    """Store actions, attachments and readings about the complaints and documents."""
    closing_time = f"{_midnight()} - (mod(n, 700) * 24 - 9) * interval '1 hour'"
    store(
        Action,
        rows,
        {
            "name": f"'Check line ' || mod(n, 17) || ', order ' || {RARE}",
            "owner_id": turning(Employee, max(READERS, rows // 20)),
            "due_date": f"{_midnight()} - (mod(n, 1000) - 20) * interval '1 day'",
            "record_id": turning(Complaint, rows),
            # Of 100 actions, 97 are closed, and the others are open or done.
            "record_status": "CASE WHEN mod(n, 100) < 2 THEN 'Open' WHEN mod(n, 100) = 2 THEN 'Done' ELSE 'Closed' END",
            "result": "CASE WHEN mod(n, 100) < 2 THEN '' ELSE 'Done.' END",
            "effective": "CASE WHEN mod(n, 100) > 2 THEN mod(n, 9) > 0 END",
            "closed_date": f"CASE WHEN mod(n, 100) > 2 THEN {closing_time} END",
        },
        site=site,
        entity=Entity.COMPLAINT.value,
    )
    store(
        Attachment,
        rows,
        {
            "record_id": turning(Complaint, rows, "n * 7::bigint"),
            "file_name": f"'photo ' || {RARE} || '.jpg'",
            "file_size": "100000 + n",
            "file_hash": "lpad(to_hex(n), 64, '0')",
            "path": "'bench/' || n",
        },
        site=site,
        entity=Entity.COMPLAINT.value,
        file_type="image/jpeg",
    )
    documents = max(1, min(beside, rows // READERS))
    file = {"file_name": "p.pdf", "file_type": "application/pdf", "file_size": 1, "file_hash": "0" * 64}
    version = {
        "document_id": key(Document),
        "in_force_since": f"{_midnight()} - mod(n, 400) * interval '1 day'",
        "path": "'bench/version ' || n",
    }
    store(DocumentVersion, documents, version, site=site, version=1, record_status="Issued", **file)
    role = make.make_role(site, ["items.view_item"], name="Bench readers")
    readers = User.objects.filter(user_name__in=[f"user{n}" for n in range(1, READERS + 1)])
    set_members(role, add=list(readers), author=make.SYSTEM)
    store(Document.must_read.through, documents, {"document_id": key(Document)}, role_id=role.pk)
    read = max(1, READERS * 9 // 10)
    of_version = f"(1 + (n - 1) / {read})"
    store(
        Reading,
        documents * read,
        {
            "document_id": key(Document, of_version),
            "version_id": key(DocumentVersion, of_version),
            "user_id": turning(Employee, read),
        },
        site=site,
        user_name="Bench",
        file_hash="0" * 64,
    )
    month = now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    for _ in range(24):
        UnitsSold.objects.create(site=site, month=month, units=5_000_000)
        month = (month - timedelta(days=1)).replace(day=1)


def _training(site: Site, rows: int, beside: int) -> None:
    """Let a tenth as many people as rows hold a hundredth as many jobs; each requires three of twenty courses."""
    people, jobs = max(1, min(beside, rows // 10)), max(1, rows // 1000)
    validity = "nullif(mod(n, 4) * 12, 0)"
    store(Course, 20, {"name": "'Course ' || n", "months_of_validity": validity}, site=site)
    holds, requires = JobDescription.employees.through, JobDescription.required_courses.through
    store(holds, people, {"jobdescription_id": turning(JobDescription, jobs), "employee_id": key(Employee)})
    job, course = key(JobDescription, "1 + (n - 1) / 3"), turning(Course, 20, "(n - 1) / 3 + mod(n, 3)")
    store(requires, 3 * jobs, {"jobdescription_id": job, "course_id": course})
    store(
        EducationTraining,
        rows,
        {
            "employee_id": turning(Employee, people),
            "idx": f"n / {people}",
            "course_id": turning(Course, 20, f"n / {people} * 2"),
            "completed_on": f"{_midnight()} - mod(n, 1500) * interval '1 day'",
        },
        title="Course",
    )


def _history(site: Site, rows: int, beside: int) -> None:
    """Store a change of each customer, and legal holds on the newest complaints; hashes are left out."""
    shared = {"site": site, "chain": site.pk, "author_name": "Bench"}
    store(
        Change,
        beside,
        {
            "number": "1000000 + n",
            "at": f"{_midnight()} - ({beside} - n) * interval '1 minute'",
            "record_id": key(Customer),
            "record_name": WORDS,
            "fields": """jsonb_build_array(jsonb_build_object('field', 'telephone', 'old', '', 'new', n::text))""",
        },
        **shared,
        channel=Channel.JSON,
        operation="UpdateCustomer",
        model=Customer._meta.label,
    )
    # What is written from now on continues the chain after these changes.
    ChainHead.objects.filter(chain=site.pk).update(number=3_000_000)
    place = f"{rows} + 1 - n"
    store(
        Change,
        min(HOLDS, rows),
        {
            "id": "md5('hold ' || n)::uuid",
            "number": "2000000 + n",
            "record_id": key(Complaint, place),
            "record_name": f"'Complaint ' || ({place})",
        },
        **shared,
        at=now(),
        channel=Channel.BACKOFFICE,
        operation=SET,
        reason="Court case",
        model=Complaint._meta.label,
        fields=[{"field": "legal_hold", "old": False, "new": True}],
    )
