"""The guides' code does what the guides say: each block runs as it stands against a running server."""

import base64
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from materials.models import Material
from records.attachments.models import Attachment
from records.complaints.models import Complaint
from records.customers.models import Customer
from records.history.models import Change
from records.items import actions as items
from records.items.models import Item
from records.reference.models import Nonconformance, Product
from tests import make
from tests.conftest import Api
from tests.guides.conftest import DOCS, Run, blocks
from tests.make.complaints import complaint_body, make_entry
from tests.make.customers import make_customer
from tests.make.items import make_item
from tests.make.materials import MaterialApi, make_material

pytestmark = pytest.mark.django_db(transaction=True)
GUIDES = sorted(f"guides/{file.name}" for file in (DOCS / "guides").glob("*.md"))
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
both = pytest.mark.parametrize("language", ["python", "bash"])


def test_the_erp_programs_rows_arrive_and_a_second_night_changes_nothing(caller: MaterialApi, run: Run) -> None:
    missing_material = make_material(caller.site, external_id="ERP/9999")
    other_material = make_material(caller.site, external_id="OTHER/1")
    first = run("guides/erp-materials.md", "python", ROWS=501, status=1)
    assert "Sent: {'Added': 499, 'Refused': 2}" in first.stdout
    assert "Sent: {'Added': 1}" in first.stdout  # the name was cut and sent once more
    assert "Archived: 1" in first.stdout
    assert "Refused: ERP/1 risk: Allowed are: None, Low, Medium, High." in first.stdout
    stored = dict(Material.objects.filter(site=caller.site).values_list("external_id", "is_archived"))
    assert len(stored) == 502  # 500 of 501 rows, and the two that were there
    assert (stored[missing_material.external_id], stored[other_material.external_id]) == (True, False)
    assert len(Material.objects.get(external_id="ERP/0").name) == 255
    changes = Change.objects.count()
    second = run("guides/erp-materials.md", "python", ROWS=501, status=1)
    assert "Sent: {'Refused': 2, 'Unchanged': 499}" in second.stdout
    assert Change.objects.count() == changes


def test_the_erp_program_says_which_materials_stay_archived(caller: MaterialApi, run: Run) -> None:
    make_material(caller.site, external_id="ERP/3")
    answer = caller.client.delete(caller.at("ERP/3", reasonForChange="Not bought"), headers=caller.headers)
    assert answer.status_code == 200
    done = run("guides/erp-materials.md", "python", ROWS=5, status=1)
    assert "Still archived in Larder: ERP/3" in done.stdout
    assert Material.objects.get(external_id="ERP/3").is_archived


def test_the_erp_calls_by_curl_send_archive_and_bring_back(caller: MaterialApi, run: Run) -> None:
    done = run("guides/erp-materials.md", "bash", ROWS=20)
    assert "Refused: ERP/1 risk: Allowed are: None, Low, Medium, High." in done.stdout
    assert Material.objects.filter(site=caller.site, is_archived=False).count() == 19
    operations = [change.operation for change in Change.objects.filter(model="materials.Material").order_by("number")]
    assert len(operations) == 21  # 19 added, one archived and restored
    (change,) = Change.objects.filter(reason="No longer bought")
    assert change.record_id == Material.objects.get(external_id="ERP/2").pk


@both
def test_the_crm_files_a_complaint_once_with_its_photo(
    caller: MaterialApi, run: Run, tmp_path: Path, language: str
) -> None:
    customer = make_customer(caller.site, name="Harbour Foods")
    product = make_entry(Product, caller.site, "Rye bread 800 g")
    kind = make_entry(Nonconformance, caller.site, "Foreign body: plastic")
    photo = tmp_path / "crumb.png"
    photo.write_bytes(PNG)
    first = run("guides/crm-complaints.md", language, CASE=4711, PHOTO=photo)
    (complaint,) = Complaint.objects.all()
    assert (complaint.customer, complaint.product, complaint.nonconformance) == (customer, product, kind)
    assert (complaint.quantity, complaint.source_details) == (Decimal(1), "CRM case 4711")
    (attachment,) = Attachment.objects.all()
    assert (attachment.record_id, attachment.file_name, attachment.file_type, attachment.file_size) == (
        complaint.pk,
        "crumb.png",
        "image/png",
        len(PNG),
    )
    assert Change.objects.filter(record_id=complaint.pk).count() == 2
    if language == "bash":
        assert first.stdout.splitlines()[-2:] == ["200", "412"]
    run("guides/crm-complaints.md", language, CASE=4711, PHOTO=photo)
    assert (Complaint.objects.count(), Attachment.objects.count(), Customer.objects.count()) == (1, 1, 1)


@both
def test_the_warehouse_meets_every_change_once_and_its_copy_is_whole(
    caller: MaterialApi, run: Run, tmp_path: Path, language: str
) -> None:
    made_items = [make_item(caller.site, name=f"Scale {number}") for number in range(5)]
    page: dict[str, Any] = {"PAGE": 2, "STATE": tmp_path}
    first = run("guides/following-changes.md", language, **page)
    assert len(re.findall(r"^\d+ \w*Item", first.stdout, re.M)) == 5
    items.update_item(caller.site.pk, made_items[1].pk, {"name": "Thermometer"}, author=make.SYSTEM)
    make.archive(made_items[3], reason="Sold")
    second = run("guides/following-changes.md", language, **page)
    assert len(re.findall(r"^\d+ \w*Item", second.stdout, re.M)) == 2
    if language == "python":
        copy = json.loads((tmp_path / "items").read_text())
        assert {key: item["Name"] for key, item in copy.items()} == {
            str(item.pk): item.name for item in Item.objects.filter(is_archived=False)
        }
    else:
        assert f"archived=false {made_items[1].pk} Thermometer" in second.stdout
        assert f"archived=true {made_items[3].pk} Scale 3" in second.stdout
        assert all(f"archived=false {item.pk} {item.name}" in first.stdout for item in made_items)
    third = run("guides/following-changes.md", language, **page)
    assert not re.findall(r"^\d+ \w*Item", third.stdout, re.M)


def test_the_calls_of_the_page_on_materials_add_read_and_archive(caller: MaterialApi, run: Run) -> None:
    done = run("materials.md", "bash")
    assert done.stdout.count('"Outcome":"Added"') == 2
    assert "<ExternalIdMaterialDtoArray>" in done.stdout
    stored = Material.objects.filter(site=caller.site).values_list("external_id", "is_archived")
    assert dict(stored) == {"ERP/100001": True, "ERP/100002": False}


def test_the_answers_are_those_that_the_page_names(caller: MaterialApi, run: Run) -> None:
    done = run("guides/answers.md", "bash")
    statuses = re.findall(r"# (\d{3})", "".join(blocks("guides/answers.md", "bash")))
    assert re.findall(r"^\d{3}$", done.stdout, re.M) == statuses
    assert len(statuses) == 8
    assert [item.name for item in Item.objects.all()] == ["Scale 4"]
    assert "IdempotencyMismatch" in done.stdout


def test_the_error_on_the_page_is_what_is_answered(caller: MaterialApi) -> None:
    [example] = re.findall(r"^```json\n(.*?)^```$", (DOCS / "guides/answers.md").read_text("utf-8"), re.M | re.S)
    body = {**complaint_body(caller.site), "Quantity": -1, "Brand": "x"}
    answer = Api(caller.holder).post("/complaint/AddComplaintDetail", body).json()
    assert {**answer, "RequestId": "…"} == json.loads(example)


def test_the_limits_on_the_page_are_the_services_own(settings: Any) -> None:
    from config.server import heads
    from records.operations import bodies, idempotency, lists
    from records.sites import text

    page = (DOCS / "guides/answers.md").read_text(encoding="utf-8")
    assert f"| {settings.RATE_LIMIT} a minute" in page
    assert f"| {settings.AUTH_FAILURE_LIMIT} a minute; right ones still work | `AUTH_FAILURE_LIMIT` |" in page
    assert f"{lists.USUAL_PAGE} a page unless you ask, {lists.LARGEST_PAGE:,} at most" in page
    assert f"| {bodies.BODY_LIMIT // 2**20} MiB and {bodies.MOST_VALUES:,} values |" in page
    assert f"| {heads.LONGEST_LINE:,} bytes |" in page
    assert f"| {settings.FILE_SIZE_LIMIT // 2**20} MiB | `FILE_SIZE_LIMIT` |" in page
    assert f"| {settings.SITE_ATTACHMENTS_LIMIT // 2**30} GiB | `SITE_ATTACHMENTS_LIMIT` |" in page
    assert f"(1 to {idempotency.LONGEST} characters)" in page
    assert f"| {text.NAME} characters |" in page
    assert f"| {text.FREE_TEXT:,} characters |" in page


@pytest.mark.parametrize("page", ["../README.md", "materials.md", *GUIDES])
def test_every_address_with_a_question_mark_is_quoted_for_the_shell(page: str) -> None:
    """Zsh takes an unquoted ? for a pattern and refuses the command where no file matches it."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for line in re.findall(r"^.*curl.*$", "\n".join(re.findall(r"^```\w*\n(.*?)^```$", text, re.M | re.S)), re.M):
        rest = re.sub(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", "", line.partition(" #")[0])
        assert "?" not in rest, line
        assert "&" not in rest, line
