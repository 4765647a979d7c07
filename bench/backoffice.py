"""The back-office with 100,000 records of a kind: time and queries of its pages.

Run by hand: `python -m tests.postgres python -m bench.backoffice`. It stores the records, which takes about a minute on
an idle machine, and opens the overviews of the site, then the list, the search and the pages of one record of each
kind. Each line has three times:

- `new process`: the first page that a process opens, which has loaded what a worker loads in the background after its
  start. Its connection is new. Another process has counted already; the median of three.
- `after a write`: the first opening after a record of a kind was archived and restored; the slowest kind.
- `again`: without a write in between; the median of five. Of this it also has the processor time of this process, and
  the time that it waited for statements.

The search before an erasure has many parts, and such a line is about the slowest of them.

What takes longer than 300 ms in one of them is marked and named again at the end.

`BENCH_ROWS=1000` for a short run; `BENCH_BESIDE=5000` for fewer records of the other kinds than complaints, actions and
attachments; `BENCH_ONLY=complaint,start` for the pages whose name contains one of these; `BENCH_ALL=1` for every order,
filter and choice of each list as well. `--sql` prints the two slowest statements of each page that is marked.
"""

import gc
import os
import statistics
import sys
import tempfile
import time
import traceback
import uuid
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from multiprocessing import Pipe
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATA_DIR", tempfile.mkdtemp(prefix="larder-bench-"))
os.environ.update(ALLOWED_HOSTS="testserver", LOG_LEVEL="warning", STATIC_COLLECTED="off")
django.setup()

from django.contrib import admin  # noqa: E402
from django.db import connection, connections, models  # noqa: E402
from django.test.utils import CaptureQueriesContext, setup_test_environment  # noqa: E402
from django.urls import reverse  # noqa: E402

from bench.backoffice_rows import fill  # noqa: E402
from records.accounts.models import DefaultRole, KeyCall, SubscriptionKey  # noqa: E402
from records.actions.models import Action  # noqa: E402
from records.attachments.models import Attachment  # noqa: E402
from records.audits.models import AuditRecord  # noqa: E402
from records.backoffice.autocomplete import choose_url  # noqa: E402
from records.complaints.models import Complaint  # noqa: E402
from records.customers.models import Customer  # noqa: E402
from records.employees.models import Employee  # noqa: E402
from records.history.trail import now  # noqa: E402
from records.items.models import Item  # noqa: E402
from records.sites.models import Site  # noqa: E402
from tests import make  # noqa: E402
from tests.make.backoffice import address, list_address, sign_in  # noqa: E402
from tests.make.complaints import make_complaint  # noqa: E402
from tests.make.customers import make_customer  # noqa: E402

ROWS = int(os.environ.get("BENCH_ROWS", "100000"))
BESIDE = int(os.environ.get("BENCH_BESIDE", ROWS))
"""How many products, customers, items, materials, employees, documents and audits there are."""
ONLY = os.environ.get("BENCH_ONLY", "").split(",")
ALL = bool(os.environ.get("BENCH_ALL"))
TIMES, FIRST_TIMES = 5, 3
SLOW = 300.0
SAMPLE_MODELS = (Complaint, Action, AuditRecord, Employee, Item, Customer, Attachment)
"""The kinds of which overviews show figures, apart from documents, which only their versions change."""


def is_chosen(name: str) -> bool:
    """Return whether the page of this name is to be opened."""
    return any(part in name for part in ONLY)


class Visit:
    """One signed-in person who opens pages and notes what they cost."""

    def __init__(self, site: Site) -> None:
        name = f"bench{time.time_ns()}"
        self.user = make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR, user_name=name)
        self.client = sign_in(self.user, site)
        self.samples = [model._default_manager.order_by("pk").last() for model in SAMPLE_MODELS]
        self.slow: list[str] = []
        # It limits every wait for the database from now on, and filling takes longer than a page may.
        from config.wsgi import prepare_pages

        prepare_pages()
        gc.collect()
        gc.freeze()
        connections.close_all()
        self._newcomers, child_end = Pipe()
        if os.fork() == 0:
            self._newcomers.close()
            self._fork_for_each(child_end)
        child_end.close()

    def _fork_for_each(self, channel: Any) -> None:
        """Open each page that is asked for in a process that has opened none before, and send how long it takes."""
        status = 0
        with suppress(EOFError):
            while not status:
                where, query = channel.recv()
                if (process := os.fork()) == 0:
                    try:
                        channel.send(self._open(where, query)[0])
                        os._exit(0)
                    finally:
                        traceback.print_exc()
                        os._exit(1)
                status = os.waitpid(process, 0)[1]
        os._exit(status and 1)

    def _open(self, where: str, query: dict[str, Any]) -> tuple[float, float, float, Any, Any]:
        """Return the milliseconds that a page takes, of the processor and of the database, the statements, the page."""
        with CaptureQueriesContext(connection) as queries:
            start, cpu = time.perf_counter(), time.process_time()
            answer = self.client.get(where, query)
            took, cpu = time.perf_counter() - start, time.process_time() - cpu
        assert answer.status_code == 200, (answer.status_code, where)
        return 1000 * took, 1000 * cpu, 1000 * sum(float(entry["time"]) for entry in queries), list(queries), answer

    def _in_new_process(self, where: str, query: dict[str, Any]) -> float:
        self._newcomers.send((where, query))
        took: float = self._newcomers.recv()
        return took

    def _after_a_write(self, where: str, query: dict[str, Any]) -> float:
        slowest = 0.0
        for record in self.samples:
            make.archive(record)
            make.archive(record, archived=False)
            slowest = max(slowest, self._open(where, query)[0])
        return slowest

    def open(self, name: str, where: str, **query: Any) -> None:
        """Open a page several times in each way, and print what it takes."""
        if not is_chosen(name):
            return
        new = statistics.median(self._in_new_process(where, query) for _ in range(FIRST_TIMES))
        after_write = self._after_a_write(where, query)
        results = [self._open(where, query) for _ in range(TIMES)]
        again, cpu, database = (statistics.median(one[part] for one in results) for part in range(3))
        queries = results[-1][3]
        mark = "  <-- slow" if max(new, after_write, again) > SLOW else ""
        ways = f"new process {new:7.1f}, after a write {after_write:7.1f}, again {again:7.1f} ms"
        line = f"{name:50} {len(queries):3} queries, {ways}: {cpu:6.1f} here, {database:6.1f} database{mark}"
        print(line, flush=True)
        if mark:
            self.slow.append(line)
            if "--sql" in sys.argv:
                for entry in sorted(queries, key=lambda entry: -float(entry["time"]))[:2]:
                    print(f"    {entry['time']} s  {entry['sql'][:1500]}")

    def open_parts(self, name: str, where: str) -> None:
        """Open the slowest part of the search on a page, after all of its parts one after the other; print both."""
        if not is_chosen(name):
            return
        times, place = dict[str, float](), ""
        while place or not times:
            took, _, _, _, answer = self._open(where, {"searched": place, "part": ""})
            times[place], place = took, answer.context["searched"].next_place
        print(f"{name}: {len(times)} parts, {sum(times.values()):.0f} ms, the slowest {max(times.values()):.0f} ms")
        slowest = max(times, key=lambda place: times[place])
        self.open(f"{name}, the slowest part", where, searched=slowest, part="")


def calls(visit: Visit, site: Site) -> None:
    """Open the profile and the calls of a key that was used as often as there are rows."""
    if not is_chosen("calls"):
        return
    make.make_key(site, user=visit.user)
    key, moment = SubscriptionKey.objects.get(user=visit.user), now()
    values = {"key": key, "operation": "GetItemList", "duration_ms": 12.5, "request_id": uuid.uuid4()}
    rows = (KeyCall(**values, at=moment - timedelta(seconds=n), status=200 if n % 50 else 404) for n in range(ROWS))
    KeyCall.objects.bulk_create(rows, batch_size=1000)
    visit.open("calls: profile", reverse("profile"))
    visit.open("calls: of a key", reverse("key-calls", args=(key.pk,)))
    visit.open("calls: failed ones", reverse("key-calls", args=(key.pk,)), outcome="failed")


def erasures(visit: Visit, site: Site) -> None:
    """Open the page before an erasure, and the parts of the search for other records that name the person."""
    if not is_chosen("erasure"):
        return
    example = Complaint.objects.at(site).filter(product__isnull=False)[0]
    required = {name: getattr(example, name) for name in ("customer", "product", "nonconformance")}
    phone = "0171 2345678"
    for what, name in {"a usual name": "Przybylski", "two letters": "Ng", "two frequent letters": "of"}.items():
        facts = {"address": f"{name}\nWolkengasse 3", "phone": phone, "mobile": "+49 900 5551234"}
        of_consumer = {"last_name": name, "email": "p.wolke@example.com", **facts}
        complaint = make_complaint(site, **required, **{f"consumer_{key}": value for key, value in of_consumer.items()})
        contact = {"last_name": name, "phone": phone, "email": "p.wolke@example.com"}
        customer = make_customer(site, name=f"{time.time_ns()}", party_contacts=[contact])
        employee = make.make_employee(site, address=name, phone=phone)
        make.archive(employee)
        steps = ((complaint, "erase-consumer"), (customer, "erase-contact"), (employee, "erase-private-facts"))
        for record, step in steps:
            kind = f"{record._meta.model_name}: erasure of {what}"
            name = f"admin:{record._meta.app_label}_{record._meta.model_name}_step"
            visit.open(kind, reverse(name, args=(record.pk, step)))
            visit.open_parts(f"{kind}, searched", reverse(name, args=(record.pk, step)))


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
    visit.open(f"{name}: search for a common word", where, q="flour")
    if not ALL:
        return
    visit.open(f"{name}: page 2", where, p=2)
    visit.open(f"{name}: page 50", where, p=50)
    visit.open(f"{name}: last full page", where, p=max(1, model._default_manager.count() // page.list_per_page))
    for column in range(len(page.list_display)):
        visit.open(f"{name}: by {page.list_display[column]}", where, o=column)
    searches = {"two words": "rye flour", "a rare word": f"{ROWS // 2:06x}", "none": "zebra"}
    for what, text in {**searches, "a number": str(ROWS // 2)}.items():
        visit.open(f"{name}: search for {what}", where, q=text)
    if is_chosen(name):
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


def forms(visit: Visit, model: type[models.Model], name: str) -> None:
    """Open the form for a new record, and the form and history of one that is stored."""
    add = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")
    if visit.client.get(add).status_code == 200:
        visit.open(f"{name}: add form", add)
    row = model._default_manager.filter(pk__isnull=False).order_by("pk").last()
    if row is not None and visit.client.get(address(row)).status_code == 200:
        visit.open(f"{name}: form", address(row))
        if visit.client.get(address(row, "history")).status_code == 200:
            visit.open(f"{name}: history", address(row, "history"))


def overviews(visit: Visit, complaint: Complaint) -> None:
    """Open the pages that count what the site has, search all of it, or show what waits."""
    visit.open("start page", reverse("admin:index"))
    visit.open("charts of complaints", reverse("admin:complaint_charts"))
    visit.open("charts of complaints, 36 months", reverse("admin:complaint_charts"), months=36)
    visit.open("monthly report", reverse("admin:monthly"))
    visit.open("monthly report, paper", reverse("admin:monthly_paper"))
    visit.open("training matrix: gaps", reverse("admin:training"))
    visit.open("training matrix: gaps, page 50", reverse("admin:training"), page=50)
    visit.open("training matrix: everything", reverse("admin:training"), show="all")
    visit.open("training matrix: by job", reverse("admin:training"), by="job")
    visit.open("readings: matrix", reverse("admin:documents_readings"))
    visit.open("readings: missing", reverse("admin:documents_readings"), show="missing")
    visit.open("readings: mine", reverse("admin:documents_reading"))
    visit.open("packs", reverse("admin:packs"))
    visit.open("packs: new", reverse("admin:packs_new"))
    search = reverse("admin:search")
    for what, text in {"a beginning": "rye", "a middle": "flour", "two words": "rye flour", "none": "zebra"}.items():
        visit.open(f"global search, {what}", search, q=text)
    visit.open("global search, a word in every complaint", search, q="plastic")
    visit.open("global search, a number", search, q=str(ROWS // 2))
    visit.open("my reminders", reverse("admin:reminders"))
    visit.open("trace: one lot", reverse("admin:trace"), lots=complaint.trace_number)
    visit.open("trace: a lot of nothing", reverse("admin:trace"), lots="X999999")
    visit.open("legal holds", reverse("admin:retention_holds"))
    visit.open("complaint: reading page", address(complaint, "read"))
    visit.open("complaint: paper", reverse("admin:print", args=("complaint", complaint.pk)))
    visit.open("complaints: list as a paper", reverse("admin:print_list", args=("complaint",)))
    visit.open("complaint: quick form", reverse("admin:quick_complaint"))
    visit.open("audits of a year", reverse("admin:audit_year"))
    visit.open("documents to sign", reverse("admin:documents_inbox"))
    visit.open("rights", reverse("admin:rights"))


def main() -> None:
    """Fill, visit and print."""
    setup_test_environment()
    start = time.perf_counter()
    site = fill(ROWS, BESIDE)
    print(f"{ROWS} rows a kind, stored in {time.perf_counter() - start:.0f} s", flush=True)
    visit = Visit(site)
    overviews(visit, Complaint.objects.at(site).order_by("-site_sequence_id")[0])
    calls(visit, site)
    erasures(visit, site)
    for model, page in admin.site._registry.items():
        if not hasattr(page, "get_changelist") or model._meta.app_label == "scim":
            continue
        if not model._default_manager.exists():
            continue
        lists(visit, page, model)
        name = str(model._meta.verbose_name)
        if any(is_chosen(f"{name}: {part}") for part in ("add form", "form", "history")):
            forms(visit, model, name)
        if hasattr(model, "ENTITY") and ALL:
            choices(visit, page, model, site.pk)
    took = time.perf_counter() - start
    print(f"\nAfter {took:.0f} s: {len(visit.slow)} slower than {SLOW:.0f} ms:", *visit.slow, sep="\n")


if __name__ == "__main__":
    main()
