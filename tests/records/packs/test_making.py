"""What an auditor's pack holds: records, documents, attachments and changes of its site and period, and their proof."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import call_command

from documents.models import Document
from records.accounts.models import DefaultRole
from records.complaints.erasure import erase_consumer
from records.history import seals
from records.history.models import Change
from records.packs.bundle import safe_name
from records.packs.models import Status
from records.packs.pages import TITLES
from records.sites.models import Site
from tests import make
from tests.make import audits as make_audits
from tests.make import packs
from tests.make.actions import make_action
from tests.make.attachments import make_attachment
from tests.make.complaints import make_complaint
from tests.make.documents import add_version, make_document, make_signer, sign, version_of

pytestmark = pytest.mark.django_db

DAY = datetime.timedelta(days=1)


def test_a_pack_holds_the_records_of_its_kinds_with_names_instead_of_ids(site: Site, tmp_path: Path) -> None:
    complaint: Any = make_complaint(site, trace_number="L-0042", complaint_description="=1+1 is what they say")
    make_complaint(site, date=datetime.datetime(2001, 5, 1, tzinfo=datetime.UTC), trace_number="L-OLD")
    pack = packs.finished_pack(site)
    assert (pack.status, pack.problem, pack.left_out) == (Status.MADE, "", 0)
    folder = packs.unpack(pack, tmp_path)
    (row,) = packs.sheet(folder, "complaints")
    assert row["Trace number"] == "L-0042"
    assert row["Customer"] == complaint.customer.name
    assert row["Number"] == 1
    assert row["Description"] == "'=1+1 is what they say"
    assert str(complaint.customer_id) not in str(row)
    text = packs.text_of(folder, "complaints")
    assert "Complaint 1: L-0042" in text
    assert complaint.product.name in text
    assert "L-OLD" not in text


def test_findings_actions_and_signatures_are_rows(site: Site, tmp_path: Path) -> None:
    rating = make_audits.make_rating(site)
    audit = make_audits.start(make_audits.make_audit(make_audits.make_program(site, rating=rating)))
    make_audits.find(audit, make_audits.response(rating, "Yes"), make_audits.response(rating, "No"))
    make_action(site, about=audit, name="Repair the door")
    reviewer = make_signer(site)
    document = make_document(site, user_to_review=[reviewer])
    sign(version_of(document), reviewer)
    folder = packs.unpack(packs.finished_pack(site), tmp_path)
    findings = packs.sheet(folder, "audits - findings")
    assert [row["Response"] for row in findings] == ["Yes", "No"]
    assert {row["Audit"] for row in findings} == {"GMP audit 1"}
    (action,) = packs.sheet(folder, "actions")
    assert (action["Name"], action["About"]) == ("Repair the door", "Audit 1: GMP audit 1")
    (signature,) = packs.sheet(folder, "documents - signatures")
    assert (signature["Printed name"], signature["Meaning"]) == (reviewer.printed_name, "Reviewed")
    assert "Finding 2" in packs.text_of(folder, "audits")


def test_documents_in_force_are_in_it_and_what_waits_for_signatures_is_not(site: Site, tmp_path: Path) -> None:
    document = make_document(site, b"In force.", file_name="hand/washing.txt")
    reviewer = make_signer(site)
    add_version(document, b"Secret draft.", file_name="draft.txt", user_to_review=[reviewer])
    pending = make_document(site, b"Never signed.", name="Pending", user_to_review=[reviewer])
    folder = packs.unpack(packs.finished_pack(site), tmp_path)
    assert (folder / "documents/1 v1 hand_washing.txt").read_bytes() == b"In force."
    assert len(list((folder / "documents").iterdir())) == 1
    assert [row["Name"] for row in packs.sheet(folder, "documents")] == [document.name]
    assert [row["File name"] for row in packs.sheet(folder, "documents - versions")] == ["hand/washing.txt"]
    everything = "".join(str(packs.sheet(folder, name)) for name in ("documents", "documents - versions"))
    assert "draft.txt" not in everything
    assert str(pending) not in everything
    assert Document.objects.count() == 2


def test_attachments_are_in_it_and_a_missing_one_is_named(site: Site, tmp_path: Path) -> None:
    complaint = make_complaint(site)
    make_attachment(site, on=complaint, content=b"A photo.", file_name="photo.jpg")
    missing = make_attachment(site, on=complaint, content=b"Gone.", file_name="lost.jpg")
    default_storage.delete(missing.path)
    pack = packs.finished_pack(site)
    folder = packs.unpack(pack, tmp_path)
    assert (folder / "attachments/Complaints/1 photo.jpg").read_bytes() == b"A photo."
    assert not (folder / "attachments/Complaints/2 lost.jpg").exists()
    assert (pack.status, pack.left_out) == (Status.MADE, 1)
    assert "2 lost.jpg: The file of lost.jpg is missing" in (folder / "Contents.html").read_text()
    assert [row["Record"] for row in packs.sheet(folder, "attachments")] == [str(complaint)] * 2
    assert packs.check(folder) == (0, "Everything is as it was when the pack was made.\n")


def test_nothing_of_another_site_is_in_it(site: Site, other_site: Site, tmp_path: Path) -> None:
    make_complaint(site, trace_number="L-HERE")
    foreign = make_complaint(other_site, trace_number="L-THERE")
    make_attachment(other_site, on=foreign, content=b"Elsewhere.", file_name="elsewhere.jpg")
    folder = packs.unpack(packs.finished_pack(site), tmp_path)
    texts = [path.read_bytes() for path in folder.rglob("*") if path.suffix in (".html", ".json", ".jsonl")]
    texts += [str(packs.sheet(folder, "complaints")).encode(), packs.text_of(folder, "").encode()]
    assert not any(word in text for text in texts for word in (b"L-THERE", b"elsewhere", other_site.name.encode()))


def test_the_contents_name_every_file_with_its_sha_256(site: Site, tmp_path: Path) -> None:
    make_complaint(site)
    make_attachment(site, content=b"A certificate.")
    folder = packs.unpack(packs.finished_pack(site), tmp_path)
    paths = {line.partition("  ")[2] for line in (folder / "SHA256SUMS").read_text().splitlines()}
    assert paths == packs.files_in(folder) - {"SHA256SUMS"}
    contents = (folder / "Contents.html").read_text()
    assert all(path in contents for path in paths - {"Contents.html"})
    (folder / "records" / "complaints.xlsx").write_bytes(b"Another table.")
    assert packs.check(folder) == (1, "records/complaints.xlsx was altered.\n")


def test_the_list_of_changes_names_what_an_action_is_about(site: Site, tmp_path: Path) -> None:
    audit = make_audits.start(make_audits.make_audit(make_audits.make_program(site, name="GMP walk")))
    finding = audit.findings.create(idx=0, question="Are the blades whole?")
    make_action(site, about=audit, finding_id=finding.pk)
    folder = packs.unpack(packs.finished_pack(site), tmp_path)
    [path] = (folder / "changes").glob("*.xlsx")
    rows = packs.sheet(folder, f"../changes/{path.stem}")
    text = next(row for row in rows if row["Operation"] == "AddAction")["What changed"]
    assert "→ Audit 1: GMP walk" in text
    assert "→ Are the blades whole?" in text
    assert str(finding.pk) not in text
    assert packs.check(folder)[0] == 0


def test_the_changes_are_proven_by_the_seal_without_the_database(site: Site, tmp_path: Path) -> None:
    complaint = make_complaint(site, consumer_last_name="Berg")
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked for it.")
    make_complaint(site)
    folder = packs.unpack(packs.finished_pack(site), tmp_path)
    assert packs.check(folder) == (0, "Everything is as it was when the pack was made.\n")
    lines = (folder / "changes" / "changes.jsonl").read_text().splitlines()
    # The pack itself was asked for within the period.
    assert json.loads(lines[-1])["number"] == Change.objects.get(operation="AskForPack").number
    seal = seals.read_seal(folder / "seal" / "seal.json", public_key=folder / "seal" / "public-key.pem")
    assert [chain for chain, _, _ in seal["heads"]] == [str(site.pk)]
    call_command("verify_history", "--seal", str(folder / "seal" / "seal.json"))


@pytest.mark.parametrize("damage", ["changed", "left out", "cut"])
def test_an_altered_history_does_not_pass_the_check(site: Site, tmp_path: Path, damage: str) -> None:
    for _ in range(3):
        make_complaint(site)
    folder = packs.unpack(packs.finished_pack(site), tmp_path)
    path = folder / "changes" / "changes.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    if damage == "changed":
        lines[1] = lines[1].replace("AddComplaintDetail", "AddSomethingElse").replace("Customer", "Another")
    lines = lines[:-1] if damage == "cut" else [*lines[:1], *lines[2:]] if damage == "left out" else lines
    path.write_text("".join(lines))
    code, output = packs.check(folder)
    assert code == 1
    assert {"changed": "was altered", "left out": "does not follow", "cut": "was sealed"}[damage] in output


def test_a_seal_by_another_key_does_not_pass_the_check(site: Site, tmp_path: Path) -> None:
    make_complaint(site)
    folder = packs.unpack(packs.finished_pack(site), tmp_path)
    path = folder / "seal" / "seal.json"
    seal = json.loads(path.read_text())
    seal["sealed"] = "2001-01-01T00:00:00.000Z"
    path.write_text(json.dumps(seal))
    code, output = packs.check(folder)
    assert code == 1
    assert "signed with another key" in output


def test_private_values_are_as_whoever_asked_may_see_them(site: Site, tmp_path: Path) -> None:
    make_complaint(site, consumer_last_name="Berg", consumer_email="berg@mail.example")
    asker = make.make_user()
    permissions = ["packs.make_pack", "complaints.view_complaint", "history.view_change", "attachments.view_attachment"]
    make.make_role(site, permissions, [asker])
    folder = packs.unpack(packs.finished_pack(site, asker), tmp_path / "blind")
    text = packs.text_of(folder, "complaints") + (folder / "changes/changes.jsonl").read_text()
    assert "Berg" not in text + str(packs.sheet(folder, "complaints"))
    assert "berg@" not in text
    assert "who consumers are" in (folder / "Contents.html").read_text()
    assert packs.check(folder)[0] == 0
    assert not (folder / "records/items.xlsx").exists()
    folder = packs.unpack(packs.finished_pack(site), tmp_path / "seeing")
    assert packs.sheet(folder, "complaints")[0]["Consumer last name"] == "Berg"


def test_a_kind_that_may_not_be_seen_any_more_is_left_out(site: Site, tmp_path: Path) -> None:
    make_complaint(site)
    asker = make.make_user()
    role = make.make_role(site, ["packs.make_pack", "complaints.view_complaint", "items.view_item"], [asker])
    pack = packs.new_pack(site, asker, ["complaints", "items"])
    role.permissions.remove(role.permissions.get(codename="view_complaint"))
    role.revision += 1
    role.save()
    packs.make_pack.call(str(pack.pk))
    pack.refresh_from_db()
    assert pack.permissions == ["items.view_item"]
    assert not list(packs.unpack(pack, tmp_path).rglob("complaints*"))


def test_many_records_are_printed_in_parts(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("records.packs.tables.STEP", 2)
    for _ in range(5):
        make_complaint(site)
    folder = packs.unpack(packs.finished_pack(site, kinds=["complaints"]), tmp_path)
    names = {path.name for path in (folder / "records").glob("*.pdf")}
    assert names == {"complaints 1-2.pdf", "complaints 3-4.pdf", "complaints 5.pdf"}
    assert len(packs.sheet(folder, "complaints")) == 5


def test_a_pack_of_a_site_without_records_is_whole(site: Site, tmp_path: Path) -> None:
    pack = packs.finished_pack(site, first=datetime.date(1999, 1, 1), last=datetime.date(1999, 12, 31))
    folder = packs.unpack(pack, tmp_path)
    assert packs.sheet(folder, "complaints") == []
    assert packs.check(folder)[0] == 0
    assert not (folder / "seal").exists()


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("C:\\temp\\a.txt", "C__temp_a.txt"),
        ("Prüfung №5 検査.pdf", "Prüfung №5 検査.pdf"),
        ("con.txt", "_con.txt"),
        ("evil\u202egpj.exe", "evilgpj.exe"),
        ("  . ", "file"),
        ("a" * 300 + ".jpeg", "a" * 95 + ".jpeg"),
    ],
)
def test_file_names_are_safe_and_readable(name: str, safe: str) -> None:
    assert safe_name(name) == safe
    assert len(safe_name(name)) <= 101


def test_every_part_has_a_title_and_a_permission(site: Site) -> None:
    user: Any = make.make_user(site=site, role=DefaultRole.MANAGER)
    assert packs.new_pack(site, user).kinds == list(TITLES)
