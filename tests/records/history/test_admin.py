"""The pages of the trail."""

import datetime

from documents import copies
from records.accounts.models import DefaultRole
from records.history.models import Change, Proof
from records.history.proofs import prove
from records.history.trail import now
from records.items import actions
from records.sites.models import Site
from tests import make
from tests.make.attachments import make_attachment
from tests.make.backoffice import address, browser, list_address, sign_in
from tests.make.complaints import make_complaint
from tests.make.documents import make_document, version_of
from tests.make.items import make_item


def test_the_trail_is_for_managers_and_above(site: Site, other_site: Site) -> None:
    employee = make.make_employee(site, notes="Left-handed")
    change = Change.objects.get(record_id=employee.pk)
    for role in (DefaultRole.READER, DefaultRole.STANDARD):
        client = browser(site, role)
        assert client.get(list_address(Change)).status_code == 403
        assert client.get(address(change)).status_code in (403, 404)
    page = browser(site).get(address(change))
    assert "Left-handed" in page.content.decode()
    assert browser(other_site).get(address(change)).status_code == 404
    assert str(employee) not in browser(other_site).get(list_address(Change)).content.decode()


def test_the_trail_shows_private_fields_only_to_those_who_may_see_them(site: Site) -> None:
    employee = make.make_employee(site, notes="Left-handed")
    change = Change.objects.get(record_id=employee.pk)
    clerk = make.make_user(site=site)
    make.make_role(site, ["employees.view_employee", "history.view_change"], [clerk])
    assert "Left-handed" not in sign_in(clerk, site).get(address(change)).content.decode()


def test_the_trail_tells_only_of_records_that_its_reader_sees(site: Site) -> None:
    complaint, oven, worker = make_complaint(site), make_item(site, name="Oven"), make.make_employee(site)
    make_attachment(site, on=complaint, file_name="letter of Berg.txt")
    make_attachment(site, on=worker, file_name="health check.txt")
    make_attachment(site, on=oven, file_name="calibration.txt")
    auditor = make.make_user(site=site)
    views = ["complaints.view_complaint", "items.view_item", "attachments.view_attachment", "history.view_change"]
    role = make.make_role(site, views, [auditor])
    page_text = sign_in(auditor, site).get(list_address(Change)).text
    assert "calibration.txt" in page_text
    assert str(complaint) in page_text
    for unseen in ("letter of Berg", "health check", str(worker)):
        assert unseen not in page_text
    for change in Change.objects.filter(record_name__in=["letter of Berg.txt", "health check.txt", str(worker)]):
        assert sign_in(auditor, site).get(address(change)).status_code == 404
    role.permissions.remove(role.permissions.get(codename="view_attachment"))
    role.revision += 1
    role.save()
    for page in (list_address(Change), address(oven, "history"), address(oven, "read")):
        page_text = sign_in(auditor, site).get(page).text
        assert "Oven" in page_text
        assert "calibration.txt" not in page_text
    assert "calibration.txt" in browser(site).get(address(oven, "history")).text
    for private in ("letter of Berg", "health check"):
        assert private in browser(site).get(list_address(Change)).text


def test_the_trail_is_searched_by_the_reason_that_it_shows(site: Site) -> None:
    oven = make_item(site, name="Oven")
    make_item(site, name="Mixer")
    actions.update_item(site.pk, oven.pk, {"location": "Hall 2"}, author=make.SYSTEM, reason="Moved for the audit")
    page = browser(site).get(list_address(Change), {"q": "moved audit"})
    assert [change.record_name for change in page.context["cl"].result_list] == ["Oven"]


def test_the_trail_is_narrowed_to_kinds_that_have_no_page_of_their_own(site: Site) -> None:
    document = make_document(site)
    reader = make.make_user(site=site, role=DefaultRole.READER)
    copies.add(version_of(document).pk, 1, reader, date=now(), author=make.author_of(reader))
    client = browser(site)
    trail = list_address(Change)
    assert '<option value="documents.ControlledPrint"' in client.get(trail).text
    changes = client.get(trail, {"kind": "documents.ControlledPrint"}).context["cl"].result_list
    assert [change.operation for change in changes] == ["ControlledPrint"]
    assert "documents.DocumentVersion" not in client.get(trail).text


def test_a_records_history_leads_to_each_change_which_says_whether_it_was_proven(site: Site) -> None:
    item = make_item(site, name="Oven")
    client = browser(site)
    change = Change.objects.get(record_id=item.pk)
    page = f"/admin/history/change/{change.pk}/change/"
    assert f'<a href="{page}">No. {change.number}</a>' in client.get(address(item, "history")).text
    assert "The history has not been verified yet." in client.get(page).text
    prove()
    page_text = client.get(page).text
    assert "no errors found." in page_text
    assert "This change is newer" not in page_text
    Proof.objects.update(at=change.at - datetime.timedelta(hours=1))
    assert "This change is newer" in client.get(page).text
