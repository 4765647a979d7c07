"""The pages of sites and folders."""

from django.urls import reverse

from records.accounts.models import DefaultRole, Role
from records.sites.models import Entity, EntityFolder, Site
from tests import make
from tests.make.backoffice import address, browser, form_of, make_superuser, press, save, sign_in


def test_folders_are_added_moved_and_archived(site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    add = reverse("admin:sites_entityfolder_add")
    data = form_of(client.get(add)) | {"entity": Entity.EMPLOYEE, "name": "Bakery"}
    assert client.post(add, data).status_code == 302
    folder = EntityFolder.objects.get(name="Bakery")
    other = make.make_folder(site, Entity.COMPLAINT)
    answer = save(client, folder, parent=str(other.pk), change_reason="Inside")
    assert answer.status_code == 200
    assert answer.context["adminform"].form.errors["parent"]
    assert save(client, folder, name="Bakehouse", change_reason="Name").status_code == 302
    step = reverse("admin:sites_entityfolder_step", args=(folder.pk, "archive"))
    make.make_employee(site, entity_folder=EntityFolder.objects.get(pk=folder.pk))
    full = press(client, step, {"change_reason": "Gone"})
    assert "still contains 1 employee" in full.content.decode()


def test_sites_are_added_by_superusers_and_changed_by_their_administrators(site: Site, other_site: Site) -> None:
    client = sign_in(make_superuser())
    add = reverse("admin:sites_site_add")
    data = form_of(client.get(add)) | {"name": "Quay Mill", "time_zone": "Europe/London"}
    assert client.post(add, data).status_code == 302
    new = Site.objects.get(name="Quay Mill")
    assert Role.objects.filter(site=new).count() == 4
    administrator = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert save(administrator, site, time_zone="America/New_York", change_reason="Moved").status_code == 302
    bad = save(administrator, site, time_zone="Mars/Base", change_reason="Moved")
    assert "not a time zone name" in bad.content.decode()
    assert administrator.get(address(other_site)).status_code == 404
    assert administrator.get(add).status_code == 403
