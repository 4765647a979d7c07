"""Filters that are kept under a name: own and shared ones, renamed and removed, and what cannot be read any more."""

from typing import Any

import pytest
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.backoffice import saved_filters
from records.backoffice.models import SavedFilter
from records.complaints.models import Complaint
from records.history.models import Change
from records.items.models import Item
from records.reference.models import Product
from tests import make
from tests.make.backoffice import browser, form_of, list_address, sign_in
from tests.make.complaints import make_complaint, make_entry

pytestmark = pytest.mark.django_db

FILTERS = reverse("admin:complaints_complaint_filters")


def save(client: Any, query: str, name: str = "Mine", **more: str) -> Any:
    return client.post(FILTERS, {"query": query, "name": name, **more})


def filter_names(client: Any, at: str = list_address(Complaint)) -> list[str]:
    return [str(row["saved"]) for row in client.get(at).context["saved_filters"]["rows"]]


def test_a_filter_is_saved_from_the_list_and_opens_the_same_list(site: Any) -> None:
    rye = make_entry(Product, site, "Rye loaf")
    hit = make_complaint(site, product=rye)
    make_complaint(site)
    client = browser(site)
    answer = save(client, f"product__id__exact={rye.pk}&p=3&o=2&q=", "Rye")
    assert answer["Location"] == f"{list_address(Complaint)}?product__id__exact={rye.pk}"
    page = client.get(answer.url)
    assert "The filter “Rye” was saved." in page.content.decode()
    assert [row.pk for row in page.context["cl"].result_list] == [hit.pk]
    assert page.context["saved_filters"]["rows"][0]["active"]
    assert filter_names(client, list_address(Item)) == []
    assert Change.objects.get(model="backoffice.SavedFilter").operation == "SaveFilter"


def test_saving_under_a_name_of_ones_own_again_replaces_it(site: Any) -> None:
    client = browser(site)
    save(client, "archived=yes", "Mine")
    save(client, "archived=all", "MINE")
    assert [(row.name, row.query) for row in SavedFilter.objects.all()] == [("MINE", "archived=all")]


def test_only_managers_share_and_only_with_their_site(site: Any, other_site: Any) -> None:
    manager, standard = browser(site), browser(site, DefaultRole.STANDARD)
    save(manager, "archived=yes", "Shared", is_shared="on")
    save(standard, "archived=yes", "Not shared", is_shared="on")
    assert set(SavedFilter.objects.values_list("name", "is_shared")) == {("Shared", True), ("Not shared", False)}
    assert filter_names(standard) == ["Not shared", "Shared"]
    assert filter_names(manager) == ["Shared"]
    assert filter_names(browser(other_site)) == []
    assert "Share with everybody" not in standard.get(f"{list_address(Complaint)}?archived=yes").content.decode()
    shared = SavedFilter.objects.get(is_shared=True)
    for body in ({"name": "Taken"}, {"remove": "yes"}):
        assert standard.post(FILTERS, {"saved": shared.pk, **body}).status_code == 403
    assert browser(site).post(FILTERS, {"saved": shared.pk, "remove": "yes"}).status_code == 302
    assert not SavedFilter.objects.filter(pk=shared.pk).exists()


def test_what_is_not_shared_or_of_another_site_does_not_exist_for_others(site: Any, other_site: Any) -> None:
    save(browser(site, DefaultRole.STANDARD), "archived=yes", "Private")
    private = SavedFilter.objects.get()
    for client in (browser(site), browser(other_site)):
        assert client.post(FILTERS, {"saved": private.pk, "remove": "yes"}).status_code == 404
        assert client.post(FILTERS, {"saved": "nonsense", "name": "x"}).status_code == 404
    assert SavedFilter.objects.get().name == "Private"


def test_a_filter_is_renamed_and_unshared_with_its_history(site: Any) -> None:
    user = make.make_user(site=site, role=DefaultRole.MANAGER)
    client = sign_in(user, site)
    save(client, "archived=yes", "One", is_shared="on")
    save(client, "archived=all", "Two")
    one = SavedFilter.objects.get(name="One")
    client.post(FILTERS, {"saved": one.pk, "name": "Archived ones"})
    one.refresh_from_db()
    assert (one.name, one.is_shared, one.query) == ("Archived ones", False, "archived=yes")
    text = client.post(FILTERS, {"saved": one.pk, "name": "two"}).content.decode()
    assert "There is already a saved filter “two”" in text
    assert 'value="two"' in text
    client.post(FILTERS, {"saved": one.pk, "name": "  "})
    one.refresh_from_db()
    assert one.name == "Archived ones"
    changes = Change.objects.filter(record_id=one.pk).order_by("number")
    assert [(change.operation, change.author_id) for change in changes] == [
        ("SaveFilter", user.pk),
        ("ChangeSavedFilter", user.pk),
    ]


@pytest.mark.parametrize("name", ["  ", "x" * 81, "a\x00b"])
def test_a_name_that_is_refused_stays_in_the_form_and_can_be_saved_from_there(site: Any, name: str) -> None:
    client = browser(site)
    answer = save(client, "archived=yes", name, is_shared="on")
    assert answer.status_code == 200
    assert not SavedFilter.objects.exists()
    form = form_of(answer)
    assert (form["query"], form["is_shared"]) == (["archived=yes"], ["on"])
    assert form["name"] == [name]
    answer = client.post(FILTERS, {**form, "name": "Archived"})
    assert answer["Location"] == f"{list_address(Complaint)}?archived=yes"
    assert SavedFilter.objects.get().is_shared


def test_beyond_the_most_filters_the_name_stays_in_the_form(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_filters, "MOST_FILTERS", 1)
    client = browser(site)
    save(client, "archived=yes", "One")
    answer = save(client, "archived=all", "Two")
    assert "You already have 1 saved filters for this list." in answer.content.decode()
    assert 'value="Two"' in answer.content.decode()


@pytest.mark.parametrize("query", ["archived=maybe", "date__since=yesterday", "q=", "nonsense=1", f"q={'x' * 5000}"])
def test_what_narrows_nothing_or_cannot_be_read_is_not_saved(site: Any, query: str) -> None:
    client = browser(site)
    answer = save(client, query)
    assert answer.status_code == 302
    assert "Nothing was saved." in client.get(list_address(Complaint)).content.decode()
    assert not SavedFilter.objects.exists()


def test_a_saved_filter_that_cannot_be_read_any_more_says_so_by_its_name(site: Any) -> None:
    user = make.make_user(site=site, role=DefaultRole.MANAGER)
    listing = {"user": user, "site": site, "listing": "complaints.complaint"}
    SavedFilter.objects.create(**listing, name="Old way", query="archived=formerly")
    page = sign_in(user, site).get(f"{list_address(Complaint)}?archived=formerly")
    assert page.status_code == 400
    assert "The saved filter “Old way” cannot be read any more." in page.content.decode()
    assert FILTERS in page.content.decode()


def test_a_reader_of_another_list_keeps_out(site: Any) -> None:
    stranger = make.make_user(site=site)
    make.make_role(site, ["items.view_item"], [stranger])
    assert sign_in(stranger, site).get(FILTERS).status_code == 403
