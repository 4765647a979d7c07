"""Folders: a tree per site and entity that one can add to, rename, move, archive and restore, with history."""

import threading

import pytest
from django.core.exceptions import ValidationError
from django.db import connection, transaction

from records.employees import actions as employee_actions
from records.history.models import Change
from records.sites import actions
from records.sites.models import Entity, EntityFolder
from records.sites.targets import lock_folders
from records.sites.writing import RecordNotFoundError
from tests import make


def add(site, name, parent=None, entity=Entity.EMPLOYEE):
    return actions.add_folder(site.pk, entity, name, parent_id=parent and parent.pk, author=make.SYSTEM)


def move(folder, parent, **more):
    return actions.move_folder(folder.site_id, folder.pk, parent and parent.pk, author=make.SYSTEM, **more)


def archive(folder, reason="Not used"):
    return actions.archive_folder(folder.site_id, folder.pk, author=make.SYSTEM, reason=reason)


def fault_of(error_info):
    error = error_info.value
    return (error.error_list if not hasattr(error, "error_dict") else next(iter(error.error_dict.values())))[0].code


def test_an_added_folder_leaves_one_change_of_its_site(site):
    top = add(site, "Line 1")
    inner = add(site, "Night shift", top)
    assert (inner.parent, inner.site, inner.entity) == (top, site, Entity.EMPLOYEE)
    change = Change.objects.get(record_id=inner.pk)
    assert (change.operation, change.site_id, change.record_name) == ("AddFolder", site.pk, "Night shift")
    assert {"field": "name", "old": None, "new": "Night shift"} in change.fields


def test_siblings_have_different_names_in_any_case(site, other_site):
    top = add(site, "Straße")
    for name in ("STRASSE", " straße "):
        with pytest.raises(ValidationError) as error_info:
            add(site, name)
        assert fault_of(error_info) == "Duplicate"
    add(site, "Straße", top)
    add(site, "Straße", entity=Entity.ITEM)
    add(other_site, "Straße")
    archive(add(site, "Old"))
    add(site, "Old")


@pytest.mark.parametrize("name", ["", "  ", "x" * 256, "a\x00"])
def test_a_name_that_is_none_is_refused(site, name):
    with pytest.raises(ValidationError):
        add(site, name)
    assert not EntityFolder.objects.exists()


def test_renaming_keeps_place_and_leaves_no_change_when_nothing_changed(site):
    folder = add(site, "Line 1")
    result = actions.rename_folder(site.pk, folder.pk, "Line one", author=make.SYSTEM)
    actions.rename_folder(site.pk, folder.pk, "Line one", author=make.SYSTEM)
    assert result.name == "Line one"
    change = Change.objects.filter(record_id=folder.pk, operation="RenameFolder").get()
    assert change.fields == [{"field": "name", "old": "Line 1", "new": "Line one"}]


def test_a_folder_moves_with_all_that_is_in_it(site):
    line, shift, archive_of_old = add(site, "Line 1"), None, add(site, "Earlier")
    shift = add(site, "Night shift", line)
    employee = make.make_employee(site, entity_folder=shift)
    move(line, archive_of_old, idx=3)
    tree = [(folder.name, depth) for folder, depth in actions.folder_tree(site.pk, Entity.EMPLOYEE)]
    assert tree == [("Earlier", 0), ("Line 1", 1), ("Night shift", 2)]
    employee.refresh_from_db()
    assert employee.entity_folder_id == shift.pk
    change = Change.objects.get(record_id=line.pk, operation="MoveFolder")
    assert [entry["field"] for entry in change.fields] == ["parent", "idx"]
    assert change.fields[0]["new"] == {"id": str(archive_of_old.pk), "name": "Earlier"}


def test_a_folder_cannot_be_moved_into_itself_or_below_itself(site):
    top = add(site, "A")
    inner = add(site, "B", top)
    lowest = add(site, "C", inner)
    for target in (top, inner, lowest):
        with pytest.raises(ValidationError) as error_info:
            move(top, target)
        assert fault_of(error_info) == "InvalidReference"
    top.refresh_from_db()
    assert top.parent is None


def test_a_folder_stays_in_its_site_and_entity(site, other_site):
    folder = add(site, "A")
    former = archive(add(site, "Gone"))
    for target in (add(other_site, "B"), add(site, "B", entity=Entity.ITEM), former):
        with pytest.raises(ValidationError) as error_info:
            move(folder, target)
        assert fault_of(error_info) == "InvalidReference"
    with pytest.raises(RecordNotFoundError):
        actions.rename_folder(other_site.pk, folder.pk, "Mine now", author=make.SYSTEM)


def test_folders_nest_only_so_deep(site):
    folder = None
    for level in range(actions.DEEPEST):
        folder = add(site, f"Level {level}", folder)
    with pytest.raises(ValidationError):
        add(site, "One too many", folder)
    branch = add(site, "Branch")
    add(site, "Twig", branch)
    with pytest.raises(ValidationError):
        move(branch, EntityFolder.objects.get(name=f"Level {actions.DEEPEST - 2}"))


def test_a_folder_that_holds_anything_says_what_and_stays(site):
    folder = add(site, "Line 1")
    inner = add(site, "Night shift", folder)
    employee = make.make_employee(site, entity_folder=folder)
    make.make_employee(site, entity_folder=folder)
    with pytest.raises(ValidationError) as error_info:
        archive(folder)
    assert error_info.value.messages == ["“Line 1” still contains 2 employees and 1 folder. Move them first."]
    assert fault_of(error_info) == "InUse"
    archive(inner)
    for one in type(employee).objects.all():
        values = {"entity_folder": None}
        employee_actions.update_employee(site.pk, one.pk, values, author=make.SYSTEM)
    assert archive(folder).is_archived
    change = Change.objects.get(record_id=folder.pk, operation="ArchiveFolder")
    assert change.reason == "Not used"


def test_a_folder_is_found_by_its_name_topmost_first_or_made(site, other_site):
    outer = add(site, "Archive of old")
    add(site, "Night Shift", outer)
    add(other_site, "Packing")

    def folder_named(name):
        return actions.folder_named(site.pk, Entity.EMPLOYEE, name, author=make.SYSTEM)

    assert folder_named("night shift").parent == outer
    top = add(site, "Night shift")
    assert folder_named(" NIGHT SHIFT") == top
    folder = folder_named("Packing")
    assert (folder.site, folder.parent) == (site, None)
    assert Change.objects.get(record_id=folder.pk).operation == "AddFolder"
    assert folder_named("packing") == folder


def test_archiving_asks_why(site):
    folder = add(site, "A")
    with pytest.raises(ValidationError) as error_info:
        archive(folder, reason=" ")
    assert fault_of(error_info) == "RequiredField"


def test_an_archived_folder_comes_back_where_nothing_is_in_the_way(site):
    outer = add(site, "A")
    inner = archive(add(site, "B", outer))
    archive(outer)

    def restore(folder):
        return actions.restore_folder(site.pk, folder.pk, author=make.SYSTEM, reason="Needed again")

    with pytest.raises(ValidationError):
        restore(inner)
    restore(outer)
    add(site, "B", outer)
    with pytest.raises(ValidationError) as error_info:
        restore(inner)
    assert fault_of(error_info) == "Duplicate"


def test_nothing_is_newly_filed_in_an_archived_folder_even_one_read_before(site):
    folder = add(site, "A")
    read_before = EntityFolder.objects.get(pk=folder.pk)
    archive(folder)
    with pytest.raises(ValidationError) as error_info:
        make.make_employee(site, entity_folder=read_before)
    assert fault_of(error_info) == "InvalidReference"


@pytest.mark.django_db(transaction=True)
def test_two_simultaneous_moves_cannot_close_a_circle():
    site = make.make_site()
    one, two = add(site, "A"), add(site, "B")
    done = make.at_once(lambda: move(one, two), lambda: move(two, one))
    assert sorted(type(result).__name__ for result in done) == ["EntityFolder", "ValidationError"]
    assert len(actions.folder_tree(site.pk, Entity.EMPLOYEE)) == 2


@pytest.mark.django_db(transaction=True)
def test_of_simultaneous_folders_of_one_name_only_one_is_made():
    site = make.make_site()
    done = make.at_once(*[lambda: add(site, "Line 1")] * 6)
    assert sorted(type(result).__name__ for result in done) == ["EntityFolder", *["ValidationError"] * 5]


@pytest.mark.django_db(transaction=True)
def test_filing_a_record_and_archiving_its_folder_never_both_succeed():
    site = make.make_site()

    def race(folder):
        return make.at_once(lambda: make.make_employee(site, entity_folder=folder), lambda: archive(folder))

    for turn in range(4):
        filing, archived = race(add(site, f"Folder {turn}"))
        assert isinstance(filing, ValidationError) != isinstance(archived, ValidationError)


@pytest.mark.django_db(transaction=True)
def test_archiving_waits_for_whoever_is_filing_into_the_folder():
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time.")
    site = make.make_site()
    folder = add(site, "A")
    is_locked, let_go = threading.Event(), threading.Event()

    def file():
        with transaction.atomic():
            lock_folders([folder.pk])
            is_locked.set()
            let_go.wait(10)
            return make.make_employee(site, entity_folder=folder)

    def clear():
        is_locked.wait(10)
        threading.Timer(0.3, let_go.set).start()
        return archive(folder)

    result, archived = make.at_once(file, clear)
    assert result.entity_folder_id == folder.pk
    assert isinstance(archived, ValidationError)
