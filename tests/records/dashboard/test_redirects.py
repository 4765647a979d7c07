"""What a browser and a program get at the service's address alone."""

import pytest
from django.test import Client

from records.items.models import Item
from records.sites.models import Site
from tests.make.backoffice import address, browser, list_address
from tests.make.items import make_item

BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8"


def test_a_browser_is_led_to_the_start_page_and_from_there_to_the_sign_in(db: None) -> None:
    """The first page that somebody sees asks for a name and a password."""
    answer = Client().get("/", headers={"accept": BROWSER}, follow=True)
    assert answer.redirect_chain[0] == ("/admin/", 302)
    assert "login" in answer.redirect_chain[-1][0]


@pytest.mark.parametrize("accept", ["*/*", "application/json", ""])
def test_a_program_gets_the_404_of_an_unknown_path(db: None, accept: str) -> None:
    """An integrator who forgot the operation reads an error in the interface's shape."""
    answer = Client().get("/", headers={"accept": accept})
    assert (answer.status_code, answer.json()["Error"]) == (404, "NotFound")


@pytest.mark.parametrize("path", ["/admin", "/docs", "/profile"])
def test_a_page_without_its_last_slash_leads_on(db: None, path: str) -> None:
    """The query goes along."""
    answer = Client().get(f"{path}?a=1")
    assert (answer.status_code, answer["Location"]) == (302, f"{path}/?a=1")


def test_nothing_can_be_posted_to_the_address_alone(db: None) -> None:
    """A form that lost its path must not seem to be saved."""
    assert Client().post("/", headers={"accept": BROWSER}).status_code == 405


def test_a_page_of_the_back_office_without_its_last_slash_leads_on(site: Site) -> None:
    client = browser(site)
    record = address(make_item(site), "read")
    for path in (list_address(Item), record, "/admin/search/"):
        answer = client.get(f"{path.removesuffix('/')}?q=a")
        assert (answer.status_code, answer["Location"]) == (302, f"{path}?q=a")
    assert client.get("/admin/nowhere").status_code == 404
    assert client.get("/admin/nowhere/at/all/").status_code == 404
    assert client.post(list_address(Item).removesuffix("/"), {}).status_code == 404
