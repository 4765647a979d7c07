"""The pages of the lists that records point into."""

from django.urls import reverse

from records.accounts.models import DefaultRole
from records.history.models import Change
from records.reference.models import Product, Rating
from records.sites.models import Site
from tests import make
from tests.make.backoffice import address, browser, form_of, make_superuser, press, save, sign_in
from tests.make.complaints import make_entry


def test_a_list_entry_is_added_changed_and_archived_by_the_sites_administrator(site: Site, other_site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    add = reverse("admin:reference_product_add")
    data = {"name": "Rye loaf", "code": "007"}
    assert client.post(add, form_of(client.get(add)) | data).status_code == 302
    product = Product.objects.get(name="Rye loaf")
    assert (product.site_id, product.code) == (site.pk, "007")
    answer = client.post(add, form_of(client.get(add)) | data)
    assert answer.status_code == 200
    assert "already has an active entry" in answer.content.decode()
    assert save(client, product, name="Rye bread", change_reason="New name").status_code == 302
    step = reverse("admin:reference_product_step", args=(product.pk, "archive"))
    assert press(client, step, {"change_reason": "Gone"}).status_code == 302
    product.refresh_from_db()
    assert (product.name, product.is_archived) == ("Rye bread", True)
    operations = list(
        Change.objects.filter(record_id=product.pk).order_by("number").values_list("operation", "channel")
    )
    assert operations == [(f"{verb}Product", "Back-office") for verb in ("Add", "Update", "Archive")]
    assert browser(site).post(add, data).status_code == 403
    assert browser(other_site, DefaultRole.SITE_ADMINISTRATOR).get(address(product)).status_code == 404


def test_the_form_of_an_entry_says_that_a_new_name_is_shown_by_all_records(site: Site) -> None:
    client, entry = browser(site, DefaultRole.SITE_ADMINISTRATOR), make_entry(Product, site, "Rye loaf")
    note = "Records that name this entry show its new name too"
    assert note in client.get(address(entry)).content.decode()
    assert note not in client.get(address(entry, "read")).content.decode()
    assert note not in client.get(reverse("admin:reference_product_add")).content.decode()


def test_a_ratings_responses_and_bands_are_edited_on_its_page(site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    add = reverse("admin:reference_rating_add")
    data = form_of(client.get(add)) | {
        "name": "Audit",
        "responses-TOTAL_FORMS": "2",
        "responses-0-name": "Yes",
        "responses-0-score": "10",
        "responses-1-name": "No",
        "responses-1-score": "0",
        "responses-1-fails": "on",
        "bands-TOTAL_FORMS": "1",
        "bands-0-from_score": "0",
        "bands-0-to_score": "100",
        "bands-0-rating": "Good",
    }
    assert client.post(add, data).status_code == 302
    rating = Rating.objects.get(name="Audit")
    assert [(response.name, response.fails) for response in rating.responses.all()] == [("Yes", False), ("No", True)]
    answer = save(client, rating, **{"responses-1-DELETE": "on", "responses-0-score": "9", "change_reason": "Simpler"})
    assert answer.status_code == 302
    assert [(r.name, r.is_archived, int(r.score or 0)) for r in rating.responses.all()] == [
        ("Yes", False, 9),
        ("No", True, 0),
    ]


def test_a_shared_list_is_read_by_all_and_changed_by_superusers(site: Site) -> None:
    nature = make.nature()
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert client.get(address(nature)).status_code == 200
    assert client.post(address(nature), {"name": "Staff"}).status_code == 403
    assert save(sign_in(make_superuser(), site), nature, idx="7", change_reason="Order").status_code == 302
    nature.refresh_from_db()
    assert nature.idx == 7
