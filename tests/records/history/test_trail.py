"""The trail: numbered, chained, whole, and closed to edits."""

import uuid
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from django.db import IntegrityError

from records.employees import actions
from records.history.digests import digest
from records.history.inserts import insertions
from records.history.models import INSTALLATION, ChainHead, Change, ImmutableError
from records.history.snapshots import columns, differences
from records.history.trail import beginning, recording, run_at_begin
from records.history.verification import verify
from records.items import actions as item_actions
from records.items.models import Item
from records.sites.models import Site, SiteSequence
from records.sites.writing import add_record, locking, locking_with_content
from tests import make
from tests.make.complaints import make_complaint
from tests.make.items import make_item


def test_changes_are_numbered_without_gap_per_site_and_chained(site: Site, other_site: Site) -> None:
    for place in (site, other_site, site):
        make.make_employee(place)
    for place in (site, other_site):
        changes = list(Change.objects.filter(site=place).order_by("number"))
        assert [change.number for change in changes] == list(range(1, len(changes) + 1))
        assert changes[0].previous_hash == ""
        for before, after in pairwise(changes):
            assert after.previous_hash == before.hash
    assert not verify().faults


def test_a_stored_change_has_the_hash_of_its_content(site: Site) -> None:
    employee = make.make_employee(site, notes="Ünïcode\nnotes")
    change = Change.objects.get(record_id=employee.pk)
    assert digest(change) == change.hash


def test_no_change_can_be_edited_or_deleted(site: Site) -> None:
    change = Change.objects.filter(site=site).first()
    assert change is not None
    for attempt in (
        change.save,
        change.delete,
        Change.objects.all().delete,
        lambda: Change.objects.update(reason="x"),
        lambda: Change.objects.filter(pk=change.pk).update(reason="x"),
    ):
        with pytest.raises(ImmutableError):
            attempt()


def fail_after_adding(site: Site) -> None:
    """Add an employee in a write that then fails."""
    with recording():
        make.make_employee(site)
        raise RuntimeError


def test_a_failed_write_leaves_no_change_and_gives_its_number_back(site: Site) -> None:
    before = Change.objects.count()
    with pytest.raises(RuntimeError):
        fail_after_adding(site)
    assert Change.objects.count() == before
    assert make.make_employee(site).site_sequence_id == 1


def test_an_inner_write_that_fails_takes_only_its_own_changes_with_it(site: Site) -> None:
    with recording():
        first = make.make_employee(site)
        with pytest.raises(RuntimeError):
            fail_after_adding(site)
        third = make.make_employee(site)
    assert (first.site_sequence_id, third.site_sequence_id) == (1, 2)
    record_ids = Change.objects.filter(model="employees.Employee").values_list("record_id", flat=True)
    assert set(record_ids) == {first.pk, third.pk}


def test_a_change_names_what_ids_point_at(site: Site) -> None:
    superior = make.make_employee(site, first_name="Sue", last_name="Perior")
    employee = make.make_employee(site)
    values = {"reporting_to": superior, "phone": "1"}
    actions.update_employee(site.pk, employee.pk, values, author=make.SYSTEM, reason="Moved")
    change = Change.objects.filter(record_id=employee.pk).latest("number")
    assert change.reason == "Moved"
    assert change.fields == [
        {"field": "phone", "old": "", "new": "1"},
        {"field": "reporting_to", "old": None, "new": {"id": str(superior.pk), "name": "Sue Perior"}},
    ]


def test_a_many_to_many_change_is_recorded_with_both_lists(site: Site) -> None:
    first, second = make.make_employee(site), make.make_employee(site)
    job = make.make_job_description(site, employees=[first])
    actions.update_job_description(site.pk, job.pk, {"employees": [second]}, author=make.SYSTEM)
    change = Change.objects.filter(record_id=job.pk).latest("number")
    assert [entry["field"] for entry in change.fields] == ["employees"]
    assert [row["id"] for row in change.fields[0]["old"]] == [str(first.pk)]
    assert [row["id"] for row in change.fields[0]["new"]] == [str(second.pk)]


def test_shared_lists_have_a_chain_of_their_own(db: None) -> None:
    make.make_user("someone")
    change = Change.objects.get(operation="AddUser")
    assert (change.site_id, change.chain, change.number) == (None, INSTALLATION, 1)


def test_changes_outlive_what_they_are_about(site: Site) -> None:
    employee = make.make_employee(site)
    key, name = employee.pk, str(employee)
    employee.delete()
    assert Change.objects.get(record_id=key).record_name == name


def test_a_password_never_reaches_the_trail(site: Site) -> None:
    make.make_user(site=site)
    text = str(list(Change.objects.values()))
    assert "md5$" not in text
    assert make.PASSWORD not in text


def test_a_no_op_update_leaves_no_trace(site: Site) -> None:
    employee = make.make_employee(site, address="a\nb")
    before: Any = Change.objects.count()
    after = actions.update_employee(site.pk, employee.pk, {"address": "a\r\nb"}, author=make.SYSTEM)
    assert Change.objects.count() == before
    assert after.revision == employee.revision


def test_a_new_records_change_has_the_number_that_the_database_gave(site: Site) -> None:
    for number in (1, 2):
        complaint = make_complaint(site, trace_number="L-7")
        change = Change.objects.get(record_id=complaint.pk)
        assert complaint.site_sequence_id == number
        assert change.record_name == str(complaint) == f"Complaint {number}: L-7"
        assert change.fields[0] == {"field": "site_sequence_id", "old": None, "new": number}
        assert digest(change) == change.hash
    assert not verify().faults


def test_a_number_is_given_within_a_longer_write_too(site: Site) -> None:
    with recording():
        first, second = make_complaint(site), make_complaint(site)
        assert (first.site_sequence_id, second.site_sequence_id) == (1, 2)
    assert not verify().faults


@pytest.mark.django_db(transaction=True)
def test_a_write_that_fails_as_it_is_committed_leaves_nothing() -> None:
    nowhere = uuid.uuid4()
    with pytest.raises(IntegrityError):
        add_record(Item(site_id=nowhere), {"name": "Mixer"}, author=make.SYSTEM, operation="AddItem")
    assert not Item.objects.exists()
    assert not Change.objects.filter(model="items.Item").exists()
    assert not ChainHead.objects.filter(chain=nowhere).exists()


@pytest.mark.django_db(transaction=True)
def test_rows_that_begin_a_transaction_are_used_once(site: Site) -> None:
    item = make_item(site, name="one")
    with beginning():
        run_at_begin([], statements_for_next_block=partial(locking_with_content, Item, item.pk))
        with recording():
            for name in ("two", "three"):
                item_actions.update_item(site.pk, item.pk, {"name": name}, author=make.SYSTEM)
    item.refresh_from_db()
    assert (item.name, item.revision) == ("three", 3)
    assert [
        [(one["old"], one["new"]) for one in change.fields if one["field"] == "name"]
        for change in Change.objects.filter(record_id=item.pk).order_by("number")
    ] == [[(None, "one")], [("one", "two")], [("two", "three")]]


def add_two_items(site: Site, numbers: tuple[int, int], note: Callable[[], None] = lambda: None) -> None:
    """Store two items with these numbers, and note their changes meanwhile."""
    items = [Item(site=site, name=f"Mixer {number}", site_sequence_id=number) for number in numbers]

    def add_changes() -> None:
        for item in items:
            trail.add(item, differences(item, {}, columns(item)), author=make.SYSTEM, operation="AddItem")
        note()

    with recording() as trail:
        trail.store(insertions(items))
        trail.note(add_changes)


@pytest.mark.django_db(transaction=True)
def test_the_changes_of_many_rows_are_noted_while_the_rows_are_stored(site: Site) -> None:
    add_two_items(site, (1, 2))
    SiteSequence.objects.create(site=site, entity=Item.ENTITY, last=2)
    assert Change.objects.filter(model="items.Item").count() == 2
    assert not verify().faults


def fail() -> None:
    """Fail."""
    raise LookupError


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("numbers", "note", "error"), [((1, 1), lambda: None, IntegrityError), ((1, 2), fail, LookupError)]
)
def test_neither_rows_nor_changes_are_stored_if_one_of_them_fails(
    numbers: tuple[int, int], note: Callable[[], None], error: type[Exception], site: Site
) -> None:
    with pytest.raises(error):
        add_two_items(site, numbers, note)
    assert not Item.objects.exists()
    assert not Change.objects.filter(model="items.Item").exists()
    add_two_items(site, (1, 2))


@pytest.mark.django_db(transaction=True)
def test_what_is_read_ahead_is_read_again_after_a_change(site: Site) -> None:
    item = make_item(site, name="one")
    reading = partial(locking_with_content, Item, item.pk)
    with recording(lambda: [], statements_for_next_block=reading):
        add_record(Item(site=site), {"name": "other"}, author=make.SYSTEM, operation="AddItem")
        Item.objects.filter(pk=item.pk).update(name="two")
        with recording(reading) as trail:
            assert [item.name for item in locking(Item).objects(trail.answers[0])] == ["two"]
