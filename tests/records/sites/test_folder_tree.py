"""The folders' tree page: browse, move, rename, archive; per site, with a reason and history."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.history.models import Change
from records.sites import actions
from records.sites.models import Entity, EntityFolder, Site
from tests import make
from tests.make import documents as docs
from tests.make.backoffice import address, browser, form_of, list_address, press

ADMINISTRATOR = DefaultRole.SITE_ADMINISTRATOR


def add(site, name, parent=None, entity=Entity.EMPLOYEE):
    return actions.add_folder(site.pk, entity, name, parent_id=parent and parent.pk, author=make.SYSTEM)


def tree(client, **query):
    return client.get(list_address(EntityFolder), {"entity": "employee", **query})


def move(client, folder, target, reason="Reorganised"):
    data = {"folder": folder.pk, "target": target.pk if target else "", "change_reason": reason}
    return client.post(reverse("admin:sites_entityfolder_move"), data)


def test_the_tree_shows_folders_within_each_other_with_what_they_hold(site, other_site):
    outer = add(site, "Production")
    inner = add(site, "Night shift", outer)
    add(site, "Manuals", entity=Entity.DOCUMENT)
    add(other_site, "Secret")
    make.make_employee(site, entity_folder=inner)
    answer = tree(browser(site, ADMINISTRATOR))
    page = answer.content.decode()
    (node,) = answer.context["nodes"]
    assert (node.folder, [one.folder for one in node.inner], node.inner[0].records) == (outer, [inner], 1)
    assert "Manuals" not in page
    assert "Secret" not in page
    link = re.search(r'href="([^"]+)">1 record<', page)[1].replace("&amp;", "&")
    assert "1 employee" in browser(site).get(link).content.decode()


@pytest.mark.parametrize(("role", "count"), [(DefaultRole.READER, 1), (DefaultRole.MANAGER, 2)])
def test_a_folder_counts_only_documents_that_exist_for_the_reader(site: Site, role: DefaultRole, count: int) -> None:
    folder = add(site, "Manuals", entity=Entity.DOCUMENT)
    docs.make_document(site, entity_folder=folder)
    docs.make_document(site, entity_folder=folder, user_to_review=[docs.make_signer(site)])
    (node,) = tree(browser(site, role), entity="document").context["nodes"]
    assert node.records == count


def test_a_folder_is_moved_where_it_fits_and_nowhere_else(site):
    one, two = add(site, "One"), add(site, "Two")
    inner = add(site, "Inner", one)
    client = browser(site, ADMINISTRATOR)
    answer = tree(client, move=str(one.pk))
    choices = {
        node.folder.name: node.takes_moved for node in (*answer.context["nodes"], *answer.context["nodes"][0].inner)
    }
    assert choices == {"One": False, "Inner": False, "Two": True}
    assert move(client, one, two).status_code == 302
    one.refresh_from_db()
    assert one.parent == two
    change = Change.objects.get(record_id=one.pk, operation="MoveFolder")
    assert (change.reason, change.channel) == ("Reorganised", "Back-office")
    answer = client.post(
        reverse("admin:sites_entityfolder_move"),
        {"folder": two.pk, "target": inner.pk, "change_reason": "Circle"},
    )
    assert "cannot be moved into itself" in answer.content.decode()
    assert "Circle</textarea>" in answer.content.decode()
    move(client, one, None)
    one.refresh_from_db()
    assert one.parent is None


def test_a_move_asks_why(site):
    one, two = add(site, "One"), add(site, "Two")
    client = browser(site, ADMINISTRATOR)
    move(client, one, two, reason=" ")
    one.refresh_from_db()
    assert one.parent is None


def test_a_folder_is_renamed_and_archived_from_the_tree(site):
    folder = add(site, "Line 1")
    client = browser(site, ADMINISTRATOR)
    data = {**form_of(client.get(address(folder))), "name": "Line one", "change_reason": "Spelling"}
    assert client.post(address(folder), data).status_code == 302
    employee = make.make_employee(site, entity_folder=folder)
    step = reverse("admin:sites_entityfolder_step", args=(folder.pk, "archive"))
    answer = press(client, step, {"change_reason": "Unused"})
    assert "still contains 1 employee" in answer.content.decode()
    type(employee).objects.update(entity_folder=None)
    assert press(client, step, {"change_reason": "Unused"}).status_code == 302
    folder.refresh_from_db()
    assert (folder.name, folder.is_archived) == ("Line one", True)
    assert tree(client).context["nodes"] == []
    assert "Line one" in client.get(list_address(EntityFolder), {"archived": "all"}).content.decode()


@pytest.mark.parametrize("role", [DefaultRole.READER, DefaultRole.MANAGER])
def test_only_those_who_keep_the_folders_move_them(site, role):
    one, two = add(site, "One"), add(site, "Two")
    client = browser(site, role)
    assert ">Move<" not in tree(client).content.decode()
    assert tree(client, move=str(one.pk)).status_code == 403
    assert move(client, one, two).status_code == 403
    one.refresh_from_db()
    assert one.parent is None


def test_folders_of_another_site_cannot_be_touched(site, other_site):
    mine, foreign = add(site, "Mine"), add(other_site, "Theirs")
    client = browser(site, ADMINISTRATOR)
    assert tree(client, move=str(foreign.pk)).status_code == 404
    assert move(client, foreign, mine).status_code == 404
    move(client, mine, foreign)
    mine.refresh_from_db()
    assert mine.parent is None
    for wrong in ("abc", ""):
        answer = client.post(reverse("admin:sites_entityfolder_move"), {"folder": wrong, "target": "x"})
        assert answer.status_code == 404


def test_the_tree_costs_the_same_for_few_folders_and_for_many(site):
    client = browser(site, ADMINISTRATOR)
    top = add(site, "Top")

    def cost():
        tree(client)
        with CaptureQueriesContext(connection) as queries:
            assert tree(client).status_code == 200
        return len(queries)

    few = cost()
    for number in range(12):
        top = add(site, f"Folder {number}", top if number % 3 else None)
    assert cost() == few


def test_a_parent_is_chosen_among_folders_of_the_same_kind_and_site(site: Site, other_site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    upper = make.make_folder(site, Entity.ITEM, "Scales")
    make.make_folder(site, Entity.ITEM, "Small", parent=upper)
    make.make_folder(site, Entity.CUSTOMER, "Scale customers")
    make.make_folder(other_site, Entity.ITEM, "Scales elsewhere")
    page = client.get(address(upper))
    choices_path = page.context["adminform"].form.fields["parent"].widget.address()
    choices = client.get(f"{choices_path}&q=").json()["results"]
    assert [choice["text"] for choice in choices] == ["Scales", "Scales / Small"]
    add = client.get(f"{reverse('admin:sites_entityfolder_add')}?entity=customer")
    choices_path = add.context["adminform"].form.fields["parent"].widget.address()
    assert [choice["text"] for choice in client.get(f"{choices_path}&q=").json()["results"]] == ["Scale customers"]
    # The page's script adds what is chosen now, which wins.
    choices = client.get(f"{choices_path}&entity=item&q=small").json()["results"]
    assert [choice["text"] for choice in choices] == ["Scales / Small"]
