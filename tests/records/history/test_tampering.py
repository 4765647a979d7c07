"""Seven ways in which somebody with SQL tampers with the history: the command names each, also after an erasure."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from records.attachments.models import Attachment
from records.complaints.erasure import erase_consumer
from records.history import seals
from records.history.digests import digest
from records.history.models import ChainHead
from records.history.verification import verify
from records.items import actions
from records.sites.models import Site
from tests import make
from tests.make.attachments import make_attachment
from tests.make.backoffice import make_superuser, sign_in
from tests.make.chains import last, rows
from tests.make.complaints import make_completed
from tests.make.items import make_item
from tests.shared_fixtures import shared_fixture

ORDINARY, WITHOUT_VALUES, ERASURE = "an ordinary change", "a change that lost values", "the change of the erasure"


@shared_fixture
def numbers(site: Site) -> dict[str, int]:
    """Make a chain of ten changes and more, with an erasure in its middle; return the number of one of each kind."""
    items = [make_item(site) for _ in range(3)]
    complaint = make_completed(site, consumer_first_name="Ina", consumer_last_name="Meyer")
    actions.update_item(site.pk, items[0].pk, {"location": "Room 7"}, author=make.SYSTEM)
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked by letter")
    actions.update_item(site.pk, items[1].pk, {"location": "Room 8"}, author=make.SYSTEM)
    return {
        ORDINARY: rows(record_id=items[1].pk).earliest("number").number,
        WITHOUT_VALUES: rows(record_id=complaint.pk).earliest("number").number,
        ERASURE: rows(record_id=complaint.pk).latest("number").number,
    }


class Chain:
    """A site's chain of changes, and a seal of it."""

    def __init__(self, site: Site, numbers: dict[str, int], folder: Path) -> None:
        self.site, self.numbers, self.seal = site, numbers, folder / "seal.json"
        seals.write_seal(self.seal)
        self.last = last(site)

    def rows(self, **conditions: Any) -> Any:
        """Return changes of the chain, with everything that the product's own manager refuses."""
        return rows(chain=self.site.pk, **conditions)


def edit(chain: Chain, number: int) -> list[str]:
    chain.rows(number=number).update(author_name="Somebody else")
    return [f"change {number} was altered: its hash is not that of its content"]


def delete_in_the_middle(chain: Chain, number: int) -> list[str]:
    chain.rows(number=number).delete()
    return [f"change {number} is missing"]


def delete_the_tail(chain: Chain, number: int) -> list[str]:
    chain.rows(number__gte=number).delete()
    return [f"changes {number} to {chain.last} are missing at the end of the chain"]


def delete_all(chain: Chain, number: int) -> list[str]:
    chain.rows().delete()
    return [f"changes 1 to {chain.last} are missing at the end of the chain"]


def null_the_site(chain: Chain, number: int) -> list[str]:
    chain.rows(number=number).update(site=None)
    return [f"change {number} names another site than its chain's"]


def hash_everything_anew(chain: Chain, number: int) -> list[str]:
    chain.rows(number=number).update(author_name="Somebody else")
    previous = ""
    for change in chain.rows().order_by("number"):
        change.previous_hash = previous
        change.hash = previous = digest(change)
        chain.rows(pk=change.pk).update(previous_hash=change.previous_hash, hash=change.hash)
    ChainHead.objects.filter(chain=chain.site.pk).update(hash=previous)
    return [f"the changes up to {chain.last} were rewritten since the seal of "]


def swap(chain: Chain, number: int) -> list[str]:
    other = chain.numbers[ORDINARY] + (1 if number == chain.numbers[ORDINARY] else 0)
    for old, new in ((number, 10**6), (other, number), (10**6, other)):
        chain.rows(number=old).update(number=new)
    return [
        f"change {other} was moved: it was written as change {number}",
        f"change {number} was moved: it was written as change {other}",
    ]


@pytest.fixture(autouse=True)
def _own_seals(settings: Any, tmp_path: Path) -> None:
    settings.SEAL_KEY_FILE = str(tmp_path / "seal_key.pem")


@pytest.fixture
def chain(site: Site, numbers: dict[str, int], tmp_path: Path) -> Chain:
    """Return the chain of the site, sealed with a key of the test's own."""
    return Chain(site, numbers, tmp_path)


@pytest.fixture
def client(site: Site) -> Client:
    """Return the browser of a superuser at the site."""
    return sign_in(make_superuser(), site)


def test_no_error_is_found_before_anybody_tampers(chain: Chain, client: Client) -> None:
    assert not verify().faults
    call_command("verify_history", seal=chain.seal, stdout=StringIO())
    assert "no errors found" in client.get("/admin/history/change/").text


@pytest.mark.parametrize("kind", [ORDINARY, WITHOUT_VALUES, ERASURE])
@pytest.mark.parametrize(
    "tamper",
    [edit, delete_in_the_middle, delete_the_tail, delete_all, null_the_site, hash_everything_anew, swap],
)
def test_each_way_is_named_by_the_command_and_shown_on_the_page(
    other_site: Site, chain: Chain, client: Client, tamper: Callable[[Chain, int], list[str]], kind: str
) -> None:
    texts, output = tamper(chain, chain.numbers[kind]), StringIO()
    with pytest.raises(CommandError, match=r"fault\(s\)"):
        call_command("verify_history", seal=chain.seal, stdout=output)
    for text in texts:
        assert f"{chain.site}: {text}" in output.getvalue()
    page = client.get("/admin/history/change/").text
    assert "found</strong>" in page
    assert "no errors found" not in page
    for text in texts:
        assert escape(text) in page
    client.post(reverse("admin:switch-site"), {"site": str(other_site.pk)})
    assert escape(texts[0]) not in client.get("/admin/history/change/").text


def test_a_value_put_back_in_the_place_of_an_erased_one_is_named(chain: Chain) -> None:
    change = chain.rows(number=chain.numbers[WITHOUT_VALUES]).get()
    entry = next(entry for entry in change.fields if entry["field"] == "consumer_last_name")
    assert "erased" in entry["new"]
    entry["new"] = "Miller"
    chain.rows(pk=change.pk).update(fields=change.fields)
    assert f"change {change.number} was altered: its hash is not that of its content" in [
        fault.text for fault in verify().faults
    ]


@pytest.mark.parametrize("damage", ["altered", "removed", "altered together with its row"])
def test_a_tampered_file_of_an_attachment_is_named(site: Site, damage: str) -> None:
    attachment, other = make_attachment(site, content=b"Scale at 4.1 C"), make_attachment(site, content=b"Another")
    call_command("verify_files", stdout=StringIO())
    default_storage.delete(attachment.path)
    if damage.startswith("altered"):
        with default_storage.open(attachment.path, "wb") as file:
            file.write(b"Scale at 9.9 C")
    if damage.endswith("row"):
        # A row that agrees with the file no longer agrees with its change.
        hash_of_forgery = "f2" * 32
        Attachment.objects.filter(pk=attachment.pk).update(file_hash=hash_of_forgery)
        (text,) = [fault.text for fault in verify().faults]
        assert text.endswith(f"attachments.Attachment {attachment.pk}: file_hash")
        return
    output = StringIO()
    with pytest.raises(CommandError, match=r"1 of 2 file\(s\) missing or altered"):
        call_command("verify_files", stdout=output)
    assert str(attachment.pk) in output.getvalue()
    assert str(other.pk) not in output.getvalue()
