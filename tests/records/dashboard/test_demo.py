"""The demo: what it says of complaints, customers, items and audits, and every page opened with it."""

import datetime
import io
import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
from django.contrib import admin
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from psycopg.errors import LockNotAvailable

from documents.models import IN_FORCE, DocumentVersion, Signature
from records.accounts.models import DefaultRole, SecurityEvent
from records.attachments.models import Attachment
from records.audits.models import OPEN, AuditProgram, AuditRecord, Finding
from records.audits.models import RecordStatus as AuditStatus
from records.audits.schedule import free_due_dates
from records.complaints.models import Complaint, RecordStatus
from records.customers.models import Customer
from records.dashboard.demo import filling
from records.dashboard.demo.demo_site import content
from records.history import seals
from records.history.models import Change
from records.history.snapshots import kinds_with_history
from records.history.trail import recording
from records.items.models import Item
from records.packs.kinds import KINDS, Span
from records.packs.models import Pack, Status
from records.reference.models import Rating
from records.sites.models import Site
from records.webhooks.models import Delivery, Outcome, State, Subscription
from records.webhooks.tasks import is_waiting
from tests import make
from tests.make import packs, pdfs
from tests.make.backoffice import address, list_address, sign_in
from tests.make.chains import broken_links
from tests.make.signing_in import run_tasks


@pytest.mark.long
@pytest.mark.django_db
def test_the_demo_tells_its_story_and_every_page_opens_with_it(
    capsys: Any, tmp_path: Path, django_capture_on_commit_callbacks: Any
) -> None:
    """One test, since filling the demo is what takes its time."""
    with django_capture_on_commit_callbacks(execute=True):
        call_command("demo", "--json")
    capsys.readouterr()
    run_tasks()
    complaints_make_sense()
    audits_make_sense()
    the_pack_is_whole(tmp_path)
    a_webhook_waits_for_an_address()
    every_page_opens()
    its_papers_are_drawn_as_they_read(tmp_path)


def a_webhook_waits_for_an_address() -> None:
    """Its name can never be resolved, and nothing is sent until somebody resumes it."""
    webhook = Subscription.objects.get()
    assert (webhook.site.code, webhook.state) == ("HILL", State.PAUSED)
    assert urlsplit(webhook.address).netloc.endswith(".invalid")
    assert list(Delivery.objects.values_list("outcome", flat=True)) == [Outcome.FAILED]
    assert not is_waiting()


def complaints_make_sense() -> None:
    """Two years of complaints, and one cluster."""
    for site in Site.objects.all():
        complaints = Complaint.objects.filter(site=site)
        entries = complaints.exclude(record_status=RecordStatus.DRAFT)
        assert 100 < entries.count() < 900
        assert list(entries.values_list("site_sequence_id", flat=True)) == list(range(1, entries.count() + 1))
        dates = [date for date in entries.values_list("date", flat=True) if date is not None]
        assert len(dates) == entries.count()
        assert dates == sorted(dates)
        assert dates[-1] - dates[0] > datetime.timedelta(days=700)
        assert set(complaints.values_list("record_status", flat=True)) == set(RecordStatus.values)
        assert not complaints.filter(is_archived=True).exists()
        assert Customer.objects.filter(site=site).count() >= 12
        assert Item.objects.filter(site=site).count() >= 10
        labels = {model._meta.label for model in kinds_with_history()}
        assert {*Change.objects.values_list("model", flat=True).order_by().distinct()} <= labels
        assert Change.objects.filter(site=site, model="complaints.Complaint").count() >= complaints.count()
        assert list(broken_links(site.pk)) == []
    main = Complaint.objects.filter(site__code="HILL")
    lots = Counter(main.values_list("trace_number", "production_unit", "nonconformance"))
    (_, most), (_, next_most) = lots.most_common(2)
    assert most >= 15 > 3 * next_most
    assert Customer.objects.filter(site__code="HILL").count() == 40


def audits_make_sense() -> None:
    """Twelve programs a site, each with an audit, in every state, some overdue."""
    for site in Site.objects.all():
        programs = AuditProgram.objects.filter(site=site)
        assert programs.count() == len(content("audits")["programs"]) == 12
        assert not programs.filter(records=None).exists()
        records = AuditRecord.objects.filter(site=site)
        assert set(records.values_list("record_status", flat=True)) == set(AuditStatus.values)
        today = timezone.localdate(timezone=ZoneInfo(site.time_zone))
        overdue = records.filter(
            record_status__in=OPEN, due_date__lt=datetime.datetime.combine(today, datetime.time(), datetime.UTC)
        )
        assert set(overdue.values_list("record_status", flat=True)) == {"Scheduled", "In Progress"}
        assert not records.filter(is_extra=True).exists()
        for audit in records.filter(record_status__in=OPEN):
            due = audit.audit_program.next_due_date
            assert due is not None
            assert audit.due_date is not None
            assert due not in free_due_dates(audit.audit_program, 1)
            assert due <= audit.due_date < due + datetime.timedelta(days=27)
        assert not records.filter(is_archived=True).exists()
        with_score = records.filter(record_status="Completed", rating_scale__isnull=False, score__isnull=False)
        assert with_score.count() > 10


def the_pack_is_whole(folder: Path) -> None:
    """Open the auditor's pack of the demo's year: its tables and PDFs agree with the database, and the seal holds."""
    pack = Pack.objects.get()
    assert (pack.status, pack.left_out, pack.asked_by.user_name) == (Status.MADE, 0, "manager")
    packs.unpack(pack, folder)
    assert packs.check(folder) == (0, "Everything is as it was when the pack was made.\n")
    seals.read_seal(folder / "seal" / "seal.json", public_key=folder / "seal" / "public-key.pem")
    span = Span(pack.first, pack.last, ZoneInfo(pack.site.time_zone))
    for kind in KINDS:
        names = [str(record) for record in kind.rows(pack.site, span)]
        assert len(names) > 3, kind.key
        rows = packs.sheet(folder, kind.title.lower())
        assert [row["Number"] for row in rows] == [record.site_sequence_id for record in kind.rows(pack.site, span)]
        text = "".join(packs.text_of(folder, f"{kind.title.lower()} ").split())
        assert [name for name in names if "".join(name.split()) not in text] == [], kind.key
    complaint = kind_of(Complaint).rows(pack.site, span).first()
    assert packs.sheet(folder, "complaints")[0]["Customer"] == complaint.customer.name
    findings = Finding.objects.filter(audit_record__in=kind_of(AuditRecord).rows(pack.site, span).order_by())
    assert len(packs.sheet(folder, "audits - findings")) == findings.count() > 20
    in_force = DocumentVersion.objects.filter(site=pack.site, record_status__in=IN_FORCE)
    assert len(list((folder / "documents").iterdir())) == in_force.count() > 3
    signatures = Signature.objects.filter(version__in=in_force)
    assert len(packs.sheet(folder, "documents - signatures")) == signatures.count() > 0
    attachments = Attachment.objects.filter(site=pack.site)
    assert len([path for path in (folder / "attachments").rglob("*") if path.is_file()]) == attachments.count() > 3
    elsewhere = Site.objects.exclude(pk=pack.site_id).get()
    assert elsewhere.name.encode() not in (folder / "changes" / "changes.jsonl").read_bytes()


def its_papers_are_drawn_as_they_read(folder: Path) -> None:
    """Look at the pages of the pack's PDFs: every letter is drawn in its place, none over another, none at the edge."""
    for kind in KINDS:
        for path in packs.papers_of(folder, f"{kind.title.lower()} "):
            pages = list(pdfs.drawn_pages(path.read_bytes()))
            assert kind.title.replace(" ", "") in "".join(letter for letter, _ in pages[0].letters), path
            for page in pages:
                assert len(page.letters) > 20, path
                assert page.missing_letters() == [], path
                assert page.overlapping_letters() == [], path
                assert page.margin() > 14, path


def kind_of(model: Any) -> Any:
    """Return how a pack chooses among the records of a kind."""
    return next(kind for kind in KINDS if kind.model is model)


def every_page_opens() -> None:
    """Each model's list, search, form, record and history, as a superuser and as a Site Administrator."""
    site = Site.objects.order_by("created").first()
    assert site is not None
    rating = Rating.objects.filter(site=site).first()
    for user, each in (
        (make.make_user("root", is_superuser=True), 2),
        (make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR), 1),
    ):
        client = sign_in(user, site)
        for page in ("index", "packs"):
            assert client.get(reverse(f"admin:{page}")).status_code == 200, page
        count = 0
        for model in admin.site._registry:
            app, name = model._meta.app_label, model._meta.model_name
            answer = client.get(list_address(model))
            assert answer.status_code in (200, 403), model
            if answer.status_code == 403:
                assert not user.is_superuser, model
                continue
            search = client.get(list_address(model) + "?q=a")
            assert search.status_code == 200, model
            if model is SecurityEvent:
                continue  # The log is a list alone.
            assert client.get(reverse(f"admin:{app}_{name}_add")).status_code in (200, 403), model
            for record in search.context["cl"].result_list[:each]:
                assert client.get(address(record)).status_code == 200, (model, record)
                if model not in (Change, Delivery):  # What happened once has no history of its own.
                    assert client.get(address(record, "history")).status_code == 200, (model, record)
                count += 1
        assert count > 20
        assert rating is None or client.get(address(rating)).status_code == 200


@pytest.mark.django_db
def test_the_demo_never_runs_in_production(settings: Any) -> None:
    settings.PRODUCTION = True
    with pytest.raises(CommandError, match="bootstrap"):
        call_command("demo")
    assert not Site.objects.exists()


@pytest.mark.django_db
def test_the_demo_gives_no_password_to_accounts_that_it_did_not_make(capsys: Any) -> None:
    admin = make.make_user("admin", is_superuser=True)
    trail_of_a_demo(admin)
    other = make.make_user("manager", site=make.make_site("Hillside Bakery", code="HILL"))
    make.make_site("Harbour Dairy", code="HARB")
    before = other.password
    with pytest.raises(CommandError, match="gone or not active"):
        call_command("demo", "--json")
    other.refresh_from_db()
    assert other.password == before
    assert admin.check_password(make.PASSWORD)


@pytest.mark.django_db(transaction=True)
def test_of_two_demo_commands_at_once_the_second_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "PARTS", ("lists", "people"))
    monkeypatch.setattr(filling, "_parts_of_rooms_above", list)
    outputs = [io.StringIO(), io.StringIO()]
    results = make.at_once(*(partial(call_command, "demo", "--json", stdout=one) for one in outputs))
    # SQLite gives up waiting after 10 seconds.
    assert all(one is None or "perhaps another demo command" in str(one) for one in results)
    assert None in results
    assert Change.objects.filter(operation="FillDemo").count() == 1
    keys = [json.loads(one.getvalue())["subscription_key"] for one in outputs if one.getvalue()]
    headers = [{"Ocp-Apim-Subscription-Key": key} for key in keys]
    answers = sorted(Client().get("/item/GetItemList", headers=one).status_code for one in headers)
    assert answers == [200, 401][: len(keys)]


@pytest.mark.django_db
def test_a_demo_command_that_waited_in_vain_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait_in_vain() -> None:
        raise OperationalError("canceling statement due to lock timeout") from LockNotAvailable()

    monkeypatch.setattr(filling, "fill", wait_in_vain)
    with pytest.raises(CommandError, match="perhaps another demo command"):
        call_command("demo")


def trail_of_a_demo(admin: Any) -> None:
    """Write down that the account is the one that a demo began with."""
    with recording() as trail:
        trail.add(admin, [{"field": "note", "old": "", "new": "x"}], author=make.SYSTEM, operation="FillDemo")
