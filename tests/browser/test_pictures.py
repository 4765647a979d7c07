"""The pictures of the user guide, taken from the demo: `make screenshots` writes them to docs/user-guide.

An ordinary run only opens the pages: a page of the guide that cannot be opened as the guide says fails.
"""

import io
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import Count
from django.urls import reverse
from PIL import Image
from playwright.sync_api import Page, expect

from documents.models import Document
from records.accounts.models import User
from records.audits.models import AuditRecord
from records.complaints.models import Complaint
from records.employees.models import Employee
from records.history.models import Change
from records.items.models import Item
from records.operations.calls import buffer
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.make.backoffice import address, list_address
from tests.make.signing_in import run_tasks

TOP = Path(__file__).resolve().parents[2]
GUIDE = TOP / "docs" / "user-guide.md"
FOLDER = os.environ.get("PICTURES", "")
LARGEST = 100_000
"""In bytes: the pictures are part of the repository, so they are small."""
WIDE = (1200, 860)
PHONE = (390, 844)

PageOf = Callable[..., Page]
FAULTY_FILE = "Id,Name,Code\n,Metal detector,MD-7\n,,MD-8\nnonsense,Scale,W-1\n"


def trace_of_a_lot() -> str:
    """Return the address of the trace of the lot that most complaints name."""
    rows = Complaint.objects.exclude(trace_number="").order_by().values("trace_number")
    lot = rows.annotate(count=Count("pk")).order_by("-count", "trace_number").first()
    assert lot is not None
    return f"{reverse('admin:trace')}?lots={lot['trace_number']}"


def addresses(site: Site) -> dict[str, tuple[str, tuple[int, int]]]:
    """Return each picture's page and size, for those that need no more than a page."""
    complaints = Complaint.objects.filter(site=site)
    complaint = complaints.exclude(owner=None).exclude(correction="").order_by("-date").first()
    histories = Change.objects.filter(model=Employee._meta.label, site=site).values("record_id").annotate(n=Count("pk"))
    employee = Employee.objects.get(pk=histories.order_by("-n", "record_id").values_list("record_id", flat=True)[0])
    stranger = Employee.objects.filter(site=site).exclude(pk__in=User.objects.values("pk")).first()
    document = Document.objects.filter(site=site).exclude(effective_version=None).order_by("site_sequence_id").first()
    audit = AuditRecord.objects.filter(site=site, record_status="Completed").order_by("-site_sequence_id").first()
    assert complaint is not None
    assert stranger is not None
    assert document is not None
    assert audit is not None
    return {
        "start": ("/admin/", WIDE),
        "dark": ("/admin/", WIDE),
        "complaints": (list_address(Complaint), WIDE),
        "complaint": (address(complaint, "read"), WIDE),
        "form": (address(complaints.filter(record_status="Draft")[0]), WIDE),
        "document": (address(document, "read"), WIDE),
        "audit": (address(audit, "read"), WIDE),
        "audit-year": (reverse("admin:audit_year"), WIDE),
        "history": (address(employee, "history"), WIDE),
        "trace": (trace_of_a_lot(), (1200, 1200)),
        "packs": (reverse("admin:packs"), (1200, 600)),
        "phone": (list_address(Complaint), PHONE),
        "quick": (reverse("admin:quick_complaint"), PHONE),
        "profile": ("/profile/", WIDE),
        "rights": (reverse("admin:rights"), WIDE),
        "account": (reverse("admin:employees_employee_step", args=(stranger.pk, "give-account")), (1200, 600)),
    }


def pictures_of_guide() -> list[str]:
    return re.findall(r"\(user-guide/([a-z-]+)\.png\)", GUIDE.read_text(encoding="utf-8"))


def test_the_guide_shows_exactly_the_pictures_in_its_folder_and_they_are_small() -> None:
    sizes = {path.stem: path.stat().st_size for path in GUIDE.with_suffix("").glob("*.png")}
    assert sorted(sizes) == sorted(pictures_of_guide())
    assert {name: size for name, size in sizes.items() if size > LARGEST} == {}


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_every_picture_of_the_guide_can_be_taken_from_the_demo(page_of: PageOf, capsys: Any) -> None:
    call_command("demo", "--json")
    if FOLDER:
        run_tasks()  # The auditor's pack takes some seconds; the test of the demo makes it too.
    credentials = json.loads(capsys.readouterr().out)
    admin = User.objects.get(user_name=credentials["admin"]["username"])
    site = Site.objects.get(name=credentials["site"]["name"])
    key = make.make_key(site, user=admin)
    for path in ("/item/GetItemList", "/item/GetItem/nonsense", "/customer/GetCustomerList"):
        Api(key).get(path)
    buffer.flush()
    page = page_of(admin, site)
    page.emulate_media(reduced_motion="reduce")
    names = []
    for name, (where, (width, height)) in addresses(site).items():
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if name == "dark" else "light")
        answer = page.goto(where)
        assert answer is not None
        assert answer.status == 200, where
        names.append(take(page, name))
    names += [the_calls(page), the_report_of_an_import(page), the_checklist(page, site)]
    assert sorted(names) == sorted(pictures_of_guide())


def take(page: Page, name: str) -> str:
    """Take the picture with few colours where pictures are asked for, and return its name."""
    if FOLDER:
        with Image.open(io.BytesIO(page.screenshot())) as picture:
            few = picture.convert("RGB").quantize(64, dither=Image.Dither.NONE)
        few.save(TOP / FOLDER / f"{name}.png", optimize=True)
    return name


def the_calls(page: Page) -> str:
    page.set_viewport_size({"width": 1200, "height": 560})
    page.goto("/profile/")
    page.get_by_role("link", name=re.compile("Recent calls of Test key")).click()
    expect(page.get_by_role("row")).to_have_count(4)
    return take(page, "calls")


def the_report_of_an_import(page: Page) -> str:
    page.set_viewport_size({"width": 1200, "height": 620})
    page.goto(reverse("admin:items_item_import"))
    file: Any = {"name": "items.csv", "mimeType": "text/csv", "buffer": FAULTY_FILE.encode()}
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_role("main")).to_contain_text("The site has no item with this Id.")
    assert not Item.objects.filter(name="Metal detector", code="MD-7").exists()
    return take(page, "import")


def the_checklist(page: Page, site: Site) -> str:
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    audit = AuditRecord.objects.filter(site=site, record_status="In Progress", is_archived=False).first()
    assert audit is not None
    page.goto(reverse("admin:audits_auditrecord_checklist", args=(audit.pk,)))
    expect(page.get_by_role("button", name="Next")).to_be_visible()
    return take(page, "checklist")
