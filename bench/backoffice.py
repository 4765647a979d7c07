"""The back-office with 100,000 records of a kind: queries and time of every list, search, form and choice.

Run by hand: `python -m bench.backoffice` (SQLite in a folder of its own), or
`python -m tests.postgres python -m bench.backoffice`. Pages are asked for in this process, three times each. The line
of each has the fastest time, and of it the time of the processor that this process took (on SQLite all of it; a busy
machine does not stretch it) and the time that it waited for statements. What takes longer than 300 ms is marked.
`BENCH_ROWS=1000` for a short run; `BENCH_ONLY=complaint,start` for the pages whose name contains one of these;
`BENCH_BESIDE=5000` for fewer records of the other kinds than complaints, actions and attachments.
"""

import os
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import islice
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATA_DIR", tempfile.mkdtemp(prefix="larder-bench-"))
os.environ.update(ALLOWED_HOSTS="testserver", LOG_LEVEL="warning", STATIC_COLLECTED="off")
django.setup()

from django.contrib import admin  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection, models  # noqa: E402
from django.test.utils import CaptureQueriesContext, setup_test_environment  # noqa: E402
from django.urls import reverse  # noqa: E402

from bench import follow_up  # noqa: E402
from documents.models import Document  # noqa: E402
from materials.models import Material  # noqa: E402
from records.accounts.models import DefaultRole, KeyCall, SubscriptionKey, User  # noqa: E402
from records.audits.models import AuditProgram, AuditRecord  # noqa: E402
from records.backoffice.autocomplete import choose_url  # noqa: E402
from records.complaints.models import Complaint, RecordStatus  # noqa: E402
from records.customers.models import Customer  # noqa: E402
from records.employees.models import Employee, JobDescription  # noqa: E402
from records.history.models import Change  # noqa: E402
from records.history.trail import now  # noqa: E402
from records.items.models import Item  # noqa: E402
from records.reference.models import MaterialCategory, Nonconformance, Product  # noqa: E402
from records.sites.models import Entity, EntityFolder, Site, SiteSequence  # noqa: E402
from tests import make  # noqa: E402
from tests.make.backoffice import address, list_address, sign_in  # noqa: E402

ROWS = int(os.environ.get("BENCH_ROWS", "100000"))
BESIDE = int(os.environ.get("BENCH_BESIDE", ROWS))
"""How many products, customers, items, materials, employees, documents and audits there are."""
ONLY = os.environ.get("BENCH_ONLY", "").split(",")
SLOW = 300.0
ADJECTIVES = ("Brown", "Rye", "Salted", "Golden", "Smoked", "Organic", "Fine", "Coarse", "Northern", "Old")
NOUNS = ("Flour", "Butter", "Sesame", "Malt", "Honey", "Barley", "Yeast", "Cream", "Cocoa", "Oats")


def words(number: int) -> str:
    """Return a name: some words come often, the last one once."""
    return f"{ADJECTIVES[number % 10]} {NOUNS[number // 10 % 10]} {number:06x}"


def store(model: Any, count: int, make_row: Callable[[int], dict[str, Any]], site: Site | None = None) -> list[Any]:
    """Store rows in bulk and return them; records get numbers from 1 on."""
    rows: list[Any] = []
    for number in range(1, count + 1):
        fields = make_row(number)
        if site is not None:
            fields.setdefault("site_sequence_id", number)
        rows.append(model(**fields))
    # Folded keys are set on the way into the database.
    model._default_manager.bulk_create(rows, batch_size=300)
    if site is not None:
        SiteSequence.objects.update_or_create(site=site, entity=model.ENTITY, defaults={"last": count})
    return rows


def fill() -> Site:
    """Migrate, and store a site with so many records of each kind, unless a run before did."""
    call_command("migrate", verbosity=0)
    if Site.objects.filter(name="Bench Mill").exists():
        return Site.objects.get(name="Bench Mill")
    site = make.make_site("Bench Mill")
    given: dict[str, Any] = {"site": site}
    day = now()
    folders = [EntityFolder(site=site, entity=entity, name=f"Folder {n}") for entity in Entity for n in range(100)]
    EntityFolder.objects.bulk_create(folders)
    folder_of = {entity: [folder for folder in folders if folder.entity == entity] for entity in Entity}
    products = store(Product, BESIDE, lambda n: {**given, "name": f"Loaf {words(n)}", "code": f"P{n:06d}", "idx": n})
    faults = store(Nonconformance, 200, lambda n: {**given, "name": f"WireError {words(n)}", "code": f"N{n}"})
    categories = store(MaterialCategory, 50, lambda n: {**given, "name": f"Category {words(n)}", "code": f"C{n}"})
    customers = store(
        Customer,
        BESIDE,
        lambda n: {
            **given,
            "name": words(n),
            "code": f"K{n:06d}",
            "entity_folder": folder_of[Entity.CUSTOMER][n % 100],
        },
        site,
    )
    store(
        Item,
        BESIDE,
        lambda n: {**given, "name": f"Scale {words(n)}", "code": f"I{n:06d}", "serial_number": f"SN{n}"},
        site,
    )
    store(
        Material,
        BESIDE,
        lambda n: {
            **given,
            "name": words(n),
            "external_id": f"ERP-{n * 7919 % 100000000:09d}",
            "our_code": f"OC-{n % 5000}",
            "supplier_code": f"SUP-{n:05x}",
            "material_category": categories[n % 50],
            "risk": "High" if n % 7 == 0 else "",
        },
        site,
    )
    minute = day - (day - day.replace(hour=8, minute=0))
    midnight, day_long = day.replace(hour=0, minute=0, second=0, microsecond=0), timedelta(days=1)
    complaints = store(
        Complaint,
        ROWS,
        lambda n: {
            **given,
            "record_status": RecordStatus.COMPLETED if n < ROWS * 0.98 else RecordStatus.AWAITING_REVIEW,
            "review_report": "Seen to.",
            "date": minute - (ROWS - n) * (minute - minute.replace(hour=7)) / 4,
            "customer": customers[n % len(customers)],
            "product": products[n * 31 % len(products)],
            "nonconformance": faults[n % 200],
            "trace_number": f"L{n:06d}-{n % 7}",
            "consumer_last_name": words(n),
            "complaint_description": f"A piece of blue plastic in the crumb of {words(n)}; the rest was kept.",
            "severity": ("Minor", "Major", "Critical")[n % 3],
            "target_date": midnight - (ROWS - n) // 140 * day_long,
            "answered_on": midnight - ((ROWS - n) // 140 - n % 40) * day_long if n < ROWS * 0.98 else None,
        },
        site,
    )
    people = store(
        Employee,
        BESIDE,
        lambda n: {
            **given,
            "first_name": ADJECTIVES[n % 10],
            "last_name": f"{NOUNS[n // 10 % 10]} {n:05x}",
            "position": "Baker",
            "code": f"E{n:05d}",
            "email_address": f"e{n}@example.com",
            "nature_of_employment": make.nature(),
        },
        site,
    )
    jobs = store(JobDescription, ROWS // 10, lambda n: {**given, "name": words(n), "code": f"J{n:05d}"}, site)
    documents = store(
        Document,
        BESIDE,
        lambda n: {**given, "name": f"Procedure {words(n)}", "file_name": f"p{n}.pdf", "file_type": "pdf"},
        site,
    )
    programs = store(
        AuditProgram, ROWS // 100, lambda n: {**given, "name": f"Audit {words(n)}", "type": "Internal"}, site
    )
    store(
        AuditRecord,
        BESIDE,
        lambda n: {**given, "audit_program": programs[n % len(programs)], "record_status": "Completed"},
        site,
    )
    users = [
        User(
            id=person.pk,
            user_name=f"user{n}",
            given_name=person.first_name,
            family_name=person.last_name,
            home_site=site,
        )
        for n, person in enumerate(islice(people, ROWS // 20))
    ]
    User.objects.bulk_create(users, batch_size=300)
    follow_up.fill(store, site, ROWS, complaints, documents, users)
    follow_up.fill_training(store, site, ROWS, people[: ROWS // 10], jobs)
    Change.objects.bulk_create(
        (
            Change(
                site_id=site.pk,
                chain=site.pk,
                number=number,
                at=day - timedelta(minutes=ROWS - number),
                author_name="Bench",
                channel="JSON",
                operation="UpdateCustomer",
                model="customers.Customer",
                record_id=customer.pk,
                record_name=str(customer),
                fields=[{"field": "telephone", "old": "", "new": str(number)}],
            )
            for number, customer in enumerate(customers, 10**6)
        ),
        batch_size=300,
    )
    with connection.cursor() as cursor:
        # A table that was just filled has no map of visible rows, which scans of an index alone need.
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")
    return site


def wanted(name: str) -> bool:
    """Return whether the page of this name is to be opened."""
    return any(part in name for part in ONLY)


class Visit:
    """One signed-in person who opens pages and notes what they cost."""

    def __init__(self, site: Site) -> None:
        name = f"bench{time.time_ns()}"
        self.user = make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR, user_name=name)
        self.client = sign_in(self.user, site)
        self.slow: list[str] = []

    def open(self, name: str, where: str, **query: Any) -> None:
        """Open a page three times and print the fastest time, its parts and its queries."""
        if not wanted(name):
            return
        took, queries = [], 0
        for _ in range(3):
            with CaptureQueriesContext(connection) as captured:
                started, cpu = time.perf_counter(), time.process_time()
                answer = self.client.get(where, query)
                parts = (time.perf_counter() - started, time.process_time() - cpu)
            took.append([1000 * part for part in (*parts, sum(float(entry["time"]) for entry in captured))])
            assert answer.status_code == 200, (name, answer.status_code, where)
            queries = len(captured)
        best, cpu, database = min(took)
        mark = "  <-- slow" if (cpu if connection.vendor == "sqlite" else best) > SLOW else ""
        line = f"{name:58} {queries:3} queries {best:8.1f} ms: {cpu:6.1f} here, {database:6.1f} database{mark}"
        print(line, flush=True)
        if mark:
            self.slow.append(line)
            if "--sql" in sys.argv:
                for entry in sorted(captured, key=lambda entry: -float(entry["time"]))[:2]:
                    print(f"    {entry['time']} s  {entry['sql'][:1500]}")


def calls(visit: Visit, site: Site) -> None:
    """Open the profile and the calls of a key that was used as often as there are rows."""
    if not wanted("calls"):
        return
    make.make_key(site, user=visit.user)
    key, moment = SubscriptionKey.objects.get(user=visit.user), now()
    given = {"key": key, "operation": "GetItemList", "duration_ms": 12.5, "request_id": uuid.uuid4()}
    made = (KeyCall(**given, at=moment - timedelta(seconds=n), status=200 if n % 50 else 404) for n in range(ROWS))
    KeyCall.objects.bulk_create(made, batch_size=1000)
    visit.open("calls: profile", reverse("profile"))
    visit.open("calls: of a key", reverse("key-calls", args=(key.pk,)))
    visit.open("calls: failed ones", reverse("key-calls", args=(key.pk,)), outcome="failed")


def filters_of(page: Any, where: str, client: Any) -> Iterator[tuple[str, str]]:
    """Yield the first choice of each filter of a list, as name and query."""
    context = client.get(where).context
    # Folders are shown as a tree.
    if "cl" not in context:
        return
    changelist = context["cl"]
    for spec in changelist.filter_specs:
        choices = [choice for choice in spec.choices(changelist) if not choice.get("selected")]
        if choices:
            yield str(spec.title), str(choices[0]["query_string"])


def lists(visit: Visit, page: Any, model: type[models.Model]) -> None:
    """Open the list: pages, orders, searches, filters."""
    name, where = str(model._meta.verbose_name_plural), list_address(model)
    visit.open(f"{name}: first page", where)
    visit.open(f"{name}: page 2", where, p=2)
    visit.open(f"{name}: last full page", where, p=max(1, model._default_manager.count() // page.list_per_page))
    for column in range(len(page.list_display)):
        visit.open(f"{name}: by {page.list_display[column]}", where, o=column)
    searches = {"a common word": "flour", "two words": "rye flour", "a rare word": f"{ROWS // 2:06x}", "none": "zebra"}
    for what, text in {**searches, "a number": str(ROWS // 2)}.items():
        visit.open(f"{name}: search for {what}", where, q=text)
    if wanted(name):
        for title, query in filters_of(page, where, visit.client):
            visit.open(f"{name}: filter {title}", where + query)


def choices(visit: Visit, page: Any, model: type[models.Model], site_id: uuid.UUID) -> None:
    """Open the choices of each field that is looked up."""
    fields = [*model._meta.concrete_fields, *model._meta.many_to_many]
    for field in fields:
        if field.related_model is None or not field.editable:
            continue
        base = choose_url(field, site_id)
        name = f"{model._meta.verbose_name}.{field.name}"
        for what, text in {"empty": "", "a beginning": "rye", "a middle": "flour", "none": "zebra"}.items():
            visit.open(f"{name}: choices, {what}", f"{base}&q={text}")


def main() -> None:
    """Fill, visit and print."""
    setup_test_environment()
    started = time.perf_counter()
    site = fill()
    print(f"{connection.vendor}, {ROWS} rows a kind, filled in {time.perf_counter() - started:.0f} s")
    visit = Visit(site)
    visit.open("start page", reverse("admin:index"))
    for what, text in {"a beginning": "rye", "a middle": "flour", "two words": "rye flour", "none": "zebra"}.items():
        visit.open(f"global search, {what}", reverse("admin:search"), q=text)
    visit.open("global search, a number", reverse("admin:search"), q=str(ROWS // 2))
    newest = Complaint.objects.at(site).order_by("-site_sequence_id")[0]
    follow_up.visit(visit.open, newest, newest.trace_number)
    calls(visit, site)
    for model, page in admin.site._registry.items():
        if not hasattr(page, "get_changelist") or model._meta.app_label == "scim":
            continue
        if not model._default_manager.exists():
            continue
        lists(visit, page, model)
        name = str(model._meta.verbose_name)
        add = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")
        if visit.client.get(add).status_code == 200:
            visit.open(f"{name}: add form", add)
        row = model._default_manager.filter(pk__isnull=False).order_by("pk").last()
        if row is not None and visit.client.get(address(row)).status_code == 200:
            visit.open(f"{name}: form", address(row))
            if visit.client.get(address(row, "history")).status_code == 200:
                visit.open(f"{name}: history", address(row, "history"))
        if hasattr(model, "ENTITY"):
            choices(visit, page, model, site.pk)
    print(f"\n{len(visit.slow)} slower than {SLOW:.0f} ms:", *visit.slow, sep="\n")


if __name__ == "__main__":
    main()
