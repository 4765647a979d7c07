"""The back-office pages of items."""

from django.urls import reverse

from records.history.models import Change
from records.items.models import Item
from records.sites.models import Site
from tests.make.backoffice import address, browser, form_of, list_address, press


def test_an_item_is_added_changed_archived_and_restored(site: Site) -> None:
    client = browser(site)
    path = reverse("admin:items_item_add")
    assert client.post(path, {**form_of(client.get(path)), "name": "Scale", "serial_number": "SN-1"}).status_code == 302
    item = Item.objects.get()
    data = {**form_of(client.get(address(item))), "location": "Store", "change_reason": "Moved"}
    assert client.post(address(item), data).status_code == 302
    assert "Scale" in client.get(list_address(Item) + "?q=sn-1").content.decode()
    for step, archived in (("archive", True), ("restore", False)):
        path = reverse("admin:items_item_step", args=(item.pk, step))
        assert press(client, path, {"change_reason": ""}).status_code == 200
        assert press(client, path, {"change_reason": "Because"}).status_code == 302
        item.refresh_from_db()
        assert item.is_archived is archived
    operations = Change.objects.filter(record_id=item.pk).order_by("number").values_list("operation", "reason")
    assert list(operations) == [
        ("AddItem", ""),
        ("UpdateItem", "Moved"),
        ("ArchiveItem", "Because"),
        ("RestoreItem", "Because"),
    ]
