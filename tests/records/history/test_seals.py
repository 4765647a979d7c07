"""Seals of the history: what shows only against them, the daily task that makes them, and their key."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from django.core.management import CommandError, call_command

from records.employees import actions
from records.employees.models import Employee
from records.history import seals
from records.history.digests import digest
from records.history.models import ChainHead, Proof
from records.history.tasks import prove_history
from records.history.verification import verify
from records.sites.models import Site
from tests import make
from tests.make.chains import last, rows, texts

pytestmark = pytest.mark.usefixtures("own_seals")


def test_a_deleted_tail_with_its_head_turned_back_shows_in_the_records_and_in_the_seal(
    site: Site, employees: list[Employee], tmp_path: Path
) -> None:
    seals.write_seal(tmp_path / "seal.json")
    end = last(site)
    rows(chain=site.pk, number=end).delete()
    ChainHead.objects.filter(chain=site.pk).update(number=end - 1, hash=rows(chain=site.pk, number=end - 1).get().hash)
    assert [text.partition(" the record")[2] for text in texts()] == [
        f" was altered past its history: employees.Employee {employees[0].pk}: phone"
    ]
    seal = seals.read_seal(tmp_path / "seal.json")
    report = verify()
    seals.compare(report, seal)
    assert report.faults[-1].text == f"change {end}, which was sealed on {seal['sealed']}, is missing"


def rehash(site: Site) -> None:
    """Make a chain whole again, as somebody would who knows how the hashes are made."""
    previous, number = "", 0
    for change in rows(chain=site.pk).order_by("number"):
        number += 1
        change.number, change.previous_hash = number, previous
        change.hash = previous = digest(change)
        rows(pk=change.pk).update(number=number, previous_hash=change.previous_hash, hash=change.hash)
    ChainHead.objects.filter(chain=site.pk).update(number=number, hash=previous)


def test_a_chain_hashed_anew_shows_against_the_seal(site: Site, employees: list[Employee], tmp_path: Path) -> None:
    path = tmp_path / "seal.json"
    call_command("seal_history", path, stdout=StringIO())
    make.make_employee(site)
    rows(chain=site.pk, reason="Moved").update(reason="Forged")
    rehash(site)
    assert not texts()
    output = StringIO()
    with pytest.raises(CommandError, match=r"1 fault\(s\)"):
        call_command("verify_history", seal=path, stdout=output)
    assert output.getvalue().startswith(f"{site}: the changes up to {last(site) - 1} were rewritten since the seal of ")


def test_a_chain_hashed_anew_with_other_values_shows_against_the_records(site: Site, employees: list[Employee]) -> None:
    change = rows(chain=site.pk, number=last(site)).get()
    rows(pk=change.pk).update(fields=[{"field": "phone", "old": "0", "new": "78"}])
    rehash(site)
    assert [text.rpartition(": ")[2] for text in texts()] == ["phone"]


def test_a_seal_that_was_altered_or_signed_by_another_key_proves_nothing(
    site: Site, tmp_path: Path, settings: Any
) -> None:
    path = tmp_path / "seal.json"
    call_command("seal_history", path, public_key=tmp_path / "public.pem", stdout=StringIO())
    assert seals.read_seal(path, public_key=tmp_path / "public.pem")["heads"]
    seal_text = path.read_text()
    path.write_text(seal_text.replace('"number": ', '"number": 1'))
    with pytest.raises(CommandError, match="altered after it was signed"):
        call_command("verify_history", seal=path)
    path.write_text(seal_text[:-20])
    with pytest.raises(CommandError, match="cannot be read as a seal"):
        call_command("verify_history", seal=path)
    path.write_text(seal_text)
    settings.SEAL_KEY_FILE = str(tmp_path / "other.pem")
    seals.write_seal(tmp_path / "other.json")
    with pytest.raises(CommandError, match="another key"):
        call_command("verify_history", seal=path)
    assert (tmp_path / "other.pem").stat().st_mode & 0o777 == 0o600


def test_the_daily_task_seals_what_it_proved_and_keeps_the_last_seal_when_it_finds_a_fault(
    site: Site, employees: list[Employee], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert prove_history.func() == 0
    (first,) = (tmp_path / "seals").iterdir()
    seal_text = first.read_text()
    rows(chain=site.pk, number=last(site)).update(reason="Forged")
    assert prove_history.func() == 1
    assert first.read_text() == seal_text
    assert f"{site}: change {last(site)} was altered" in caplog.text
    assert [proof.faults for proof in Proof.objects.all()] == [1, 0]


def _cut(site: Site) -> None:
    """Take the last change away with its traces in the database, as somebody does who has SQL and knows of hashes."""
    number = last(site)
    change = rows(chain=site.pk, number=number).get()
    ChainHead.objects.filter(chain=site.pk).update(number=number - 1, hash=change.previous_hash)
    rows(pk=change.pk).delete()


@pytest.mark.parametrize(
    ("has_key", "log"), [(True, "was signed with another key."), (False, "does not have the key.")]
)
def test_the_daily_task_goes_on_with_a_new_key_and_says_that_the_old_seal_was_not_used(
    employees: list[Employee], tmp_path: Path, settings: Any, caplog: pytest.LogCaptureFixture, has_key: bool, log: str
) -> None:
    seals.write_seal(tmp_path / "seals" / "history-2020-01-01.json")
    settings.SEAL_KEY_FILE = str(tmp_path / "new_key.pem")
    if has_key:
        seals.public_pem()
    assert prove_history.func() == 0
    assert "The history was not compared with its newest seal: " in caplog.text
    assert log in caplog.text
    caplog.clear()
    assert prove_history.func() == 0
    assert "not compared" not in caplog.text
    assert Proof.objects.count() == 2


def test_a_new_key_keeps_the_seal_that_the_former_one_made_on_the_same_day(
    employees: list[Employee], tmp_path: Path, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert prove_history.func() == 0
    seal_text, key = next((tmp_path / "seals").iterdir()).read_text(), tmp_path / "former.pem"
    key.write_bytes(seals.public_pem())
    settings.SEAL_KEY_FILE = str(tmp_path / "new_key.pem")
    for _ in range(2):
        assert prove_history.func() == 0
    former, present = sorted((tmp_path / "seals").iterdir())
    assert (former.read_text(), seals.read_seal(former, public_key=key)["heads"]) == (
        seal_text,
        seals.read_seal(present)["heads"],
    )
    assert caplog.text.count("not compared") == 1


def test_a_damaged_seal_leaves_the_proof_to_the_one_before_it(
    site: Site, employees: list[Employee], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seals.write_seal(tmp_path / "seals" / "history-2020-01-01.json")
    (tmp_path / "seals" / "history-2020-01-02.json").write_text("")
    number = last(site)
    _cut(site)
    prove_history.func()
    assert "history-2020-01-02.json cannot be read as a seal." in caplog.text
    assert f"change {number}, which was sealed" in caplog.text


def test_a_seal_that_a_wrong_clock_left_does_not_stand_for_those_made_later(
    site: Site, employees: list[Employee], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seals.write_seal(tmp_path / "seals" / "history-2199-01-01.json")
    actions.update_employee(site.pk, employees[0].pk, {"phone": "78"}, author=make.SYSTEM, reason="Moved")
    assert prove_history.func() == 0
    number = last(site)
    _cut(site)
    assert prove_history.func() > 0
    assert f"change {number}, which was sealed" in caplog.text


def test_the_worker_proves_the_history_once_a_day(settings: Any) -> None:
    assert settings.REGULAR_JOBS[prove_history.module_path].total_seconds() == 24 * 60 * 60


def key_warnings() -> list[CheckMessage]:
    """Return what the deployment's checks say of the key; the other settings have tests of their own."""
    return [one for one in run_checks(tags=["larder"], include_deployment_checks=True) if one.id == "larder.W001"]


def test_a_production_says_that_its_key_lies_beside_the_data_and_makes_none_there_silently(
    db: None, settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    settings.SEAL_KEY_FILE = str(tmp_path / "data" / "seal_key.pem")
    assert not key_warnings()
    settings.PRODUCTION = True
    (warning,) = key_warnings()
    assert "SEAL_KEY_FILE" in str(warning)
    seals.write_seal(tmp_path / "seal.json")
    assert "was made in DATA_DIR" in caplog.text
    settings.SEAL_KEY_FILE = str(tmp_path / "keys" / "seal_key.pem")
    caplog.clear()
    seals.write_seal(tmp_path / "seal.json")
    assert not key_warnings()
    assert not caplog.text


def test_a_seal_that_cannot_be_written_leaves_no_piece_of_it(db: None, settings: Any, tmp_path: Path) -> None:
    settings.SEAL_KEY_FILE = str(tmp_path / "keys" / "seal_key.pem")
    path = tmp_path / "seals" / "history.json"
    path.mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        seals.write_seal(path)
    assert list(path.parent.iterdir()) == [path]
