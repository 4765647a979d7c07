"""The short form of a complaint: submitted when it is whole, a draft when it is not, and never twice."""

import uuid
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from records.accounts.models import DefaultRole, RoleMembership
from records.attachments.models import Attachment
from records.complaints import workflow
from records.complaints.erasure import erase_consumer
from records.complaints.models import Complaint
from records.history.models import Change
from records.sites.about import in_history_of
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.make.actions import make_action
from tests.make.attachments import MAKERS, make_attachment
from tests.make.backoffice import address, browser, form_of, list_address, save, sign_in
from tests.make.complaints import required_of
from tests.make.items import make_item

pytestmark = pytest.mark.django_db

QUICK = reverse("admin:quick_complaint")
JSON = {"Accept": "application/json"}


def body(site: Site, **more: Any) -> dict[str, Any]:
    return {
        "complaint_description": "Metal in the loaf",
        "once": str(uuid.uuid4()),
        "larder_site": str(site.pk),
        **more,
    }


def required_fields(site: Site) -> dict[str, str]:
    return {name: str(target.pk) for name, target in required_of(site).items()}


def test_a_whole_complaint_awaits_its_review_at_once(site: Site) -> None:
    client: Any = browser(site, DefaultRole.STANDARD)
    answer = client.post(QUICK, body(site, trace_number="L-2611", **required_fields(site)))
    complaint = Complaint.objects.get()
    assert answer.url == address(complaint, "read")
    assert (complaint.record_status, complaint.site_sequence_id) == ("Awaiting Review", 1)
    assert (complaint.trace_number, complaint.complaint_description) == ("L-2611", "Metal in the loaf")
    assert "was sent and awaits its review" in client.get(answer.url).content.decode()
    operations = Change.objects.filter(record_id=complaint.pk).order_by("number").values_list("operation", flat=True)
    assert list(operations) == ["AddComplaintDraft", "SubmitComplaint"]


def test_who_called_is_kept_and_asked_only_of_those_who_may_see_consumers(site: Site) -> None:
    client: Any = browser(site, DefaultRole.STANDARD)
    client.post(QUICK, body(site, consumer_last_name="Berg", consumer_phone="+44 1632 960111"))
    complaint = Complaint.objects.get()
    assert (complaint.consumer_last_name, complaint.consumer_phone) == ("Berg", "+44 1632 960111")
    clerk = make.make_user(site=site)
    make.make_role(site, ["complaints.add_complaint", "complaints.view_complaint"], [clerk])
    clerk_client: Any = sign_in(clerk, site)
    assert "consumer_phone" not in clerk_client.get(QUICK).text
    clerk_client.post(QUICK, body(site, consumer_last_name="Berg"))
    assert Complaint.objects.latest("created").consumer_last_name == ""


def test_without_what_a_review_needs_it_is_kept_as_a_draft_that_says_what_is_missing(site: Site) -> None:
    client: Any = browser(site, DefaultRole.STANDARD)
    answer = client.post(QUICK, body(site, product=required_fields(site)["product"]))
    complaint = Complaint.objects.get()
    assert complaint.is_draft
    assert "Still missing: Customer, Kind of fault." in client.get(answer.url).content.decode()


def test_the_same_form_sent_again_makes_no_second_complaint(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.STANDARD)
    client: Any = sign_in(user, site)
    data = body(site, **required_fields(site))
    first, second = (client.post(QUICK, data, headers=JSON) for _ in range(2))
    assert first.json() == second.json()
    assert Complaint.objects.count() == 1
    assert browser(site).post(QUICK, data).status_code == 302
    assert Complaint.objects.count() == 2


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("is_whole", [False, True], ids=["draft", "submitted"])
def test_a_form_cannot_give_its_complaint_the_id_of_another_record(site: Site, kind: str, is_whole: bool) -> None:
    record = MAKERS[kind](site)
    attachment = make_attachment(site, on=record, file_name="warning.pdf")
    client: Any = browser(site, DefaultRole.STANDARD)
    client.post(QUICK, body(site, once=str(record.pk), **(required_fields(site) if is_whole else {})))
    complaint = Complaint.objects.get(complaint_description="Metal in the loaf")
    assert complaint.pk != record.pk
    assert "warning.pdf" not in client.get(address(complaint, "read")).content.decode()
    manager = Api(make.make_key(site, DefaultRole.MANAGER))
    rows = manager.get(f"/attachment/GetAttachmentList?recordId={record.pk}").json()
    assert [row["Id"] for row in rows] == [str(attachment.pk)]


def test_what_is_about_a_record_is_never_about_one_of_another_kind_with_its_id(site: Site) -> None:
    item = make_item(site)
    attachment, action = make_attachment(site, on=item, file_name="certificate.pdf"), make_action(site, about=item)
    draft = workflow.add_draft(site.pk, {"complaint_description": "Metal"}, author=make.SYSTEM, key=item.pk)
    page = browser(site).get(address(draft, "read")).content.decode()
    assert "certificate.pdf" not in page
    assert str(action) not in page
    assert not Change.objects.filter(in_history_of(draft), record_id__in=(attachment.pk, action.pk)).exists()
    rows = Api(make.make_key(site)).get(f"/attachment/GetAttachmentList?recordId={item.pk}").json()
    assert [row["Id"] for row in rows] == [str(attachment.pk)]


def test_what_was_written_after_an_answer_was_lost_is_not_lost(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.STANDARD)
    client: Any = sign_in(user, site)
    data = body(site)
    client.post(QUICK, data, headers=JSON)
    longer = {**data, "complaint_description": "Metal in two loaves"}
    client.post(QUICK, longer, headers=JSON)
    complaint = Complaint.objects.get()
    assert (complaint.complaint_description, complaint.is_draft) == ("Metal in two loaves", True)
    client.post(QUICK, {**longer, **required_fields(site)}, headers=JSON)
    complaint.refresh_from_db()
    assert complaint.record_status == "Awaiting Review"
    client.post(QUICK, {**longer, **required_fields(site), "trace_number": "L-7"}, headers=JSON)
    complaint.refresh_from_db()
    assert complaint.trace_number == "L-7"
    assert Change.objects.filter(record_id=complaint.pk).latest("number").reason == "Sent again with changes"
    save(browser(site), complaint, severity="Major", change_reason="Triaged")
    answer = client.post(QUICK, {**longer, **required_fields(site), "trace_number": "L-8"}, headers=JSON)
    assert answer.status_code == 400
    assert "This complaint was already sent" in answer.json()["faults"][0]
    complaint.refresh_from_db()
    assert (complaint.trace_number, Complaint.objects.count()) == ("L-7", 1)


def test_a_form_that_is_sent_again_does_not_write_over_what_was_changed_on_another_page(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.STANDARD)
    client: Any = sign_in(user, site)
    data = body(site, **required_fields(site), consumer_last_name="Verysecret")
    client.post(QUICK, data, headers=JSON)
    complaint = Complaint.objects.get()
    save(client, complaint, complaint_description="Better", consumer_last_name="", change_reason="Asked again")
    answer = client.post(QUICK, data, headers=JSON)
    assert answer.status_code == 400
    assert "This complaint was already sent" in answer.json()["faults"][0]
    complaint.refresh_from_db()
    assert (complaint.complaint_description, complaint.consumer_last_name) == ("Better", "")


def test_a_form_that_is_sent_again_does_not_bring_an_erased_consumer_back(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR)
    client: Any = sign_in(user, site)
    data = body(site, **required_fields(site), consumer_last_name="Verysecret")
    client.post(QUICK, data, headers=JSON)
    complaint = Complaint.objects.get()
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="On request")
    assert client.post(QUICK, data, headers=JSON).status_code == 400
    complaint.refresh_from_db()
    assert complaint.consumer_last_name.startswith("erased-")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"complaint_description": " "}, "What happened: This field is required."),
        ({"complaint_description": "x" * 20_001}, "What happened: Ensure this value has at most 20000 characters"),
        ({"once": "nonsense"}, "Enter a valid UUID."),
        ({"product": str(uuid.uuid4())}, "Product: Choose one of the entries that are offered."),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_kept(site: Site, fields: dict[str, str], message: str) -> None:
    client: Any = browser(site)
    answer = client.post(QUICK, body(site, **fields), headers=JSON)
    assert answer.status_code == 400
    assert any(message in fault for fault in answer.json()["faults"])
    assert client.post(QUICK, body(site, **fields)).status_code == 200
    assert not Complaint.objects.exists()


def test_a_product_of_another_site_does_not_exist(site: Site, other_site: Site) -> None:
    answer = browser(site).post(QUICK, body(site, product=required_fields(other_site)["product"]), headers=JSON)
    assert answer.status_code == 400
    assert not Complaint.objects.exists()


def test_it_goes_to_the_site_for_which_the_form_was_opened(site: Site, other_site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.STANDARD)
    make.give_role(user, other_site, DefaultRole.STANDARD)
    client: Any = sign_in(user, other_site)
    client.post(QUICK, body(site))
    assert Complaint.objects.get().site == site


def test_it_goes_to_no_other_site_when_the_role_at_its_own_ended(site: Site, other_site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.STANDARD)
    make.give_role(user, other_site, DefaultRole.STANDARD)
    client = sign_in(user, site)
    form = form_of(client.get(QUICK))
    RoleMembership.objects.filter(user=user, role__site=site).delete()
    assert client.post(QUICK, {**form, "complaint_description": "Glass"}).status_code == 403
    assert not Complaint.objects.exists()


def test_photos_come_with_the_form_where_no_script_runs(site: Site) -> None:
    photos = [SimpleUploadedFile(f"{place}.png", b"\x89PNG\r\n\x1a\n" + b"0" * 20, "image/png") for place in (1, 2)]
    client: Any = browser(site, DefaultRole.STANDARD)
    client.post(QUICK, {**body(site), "photos": photos})
    complaint = Complaint.objects.get()
    assert set(Attachment.objects.values_list("file_name", "record_id")) == {
        ("1.png", complaint.pk),
        ("2.png", complaint.pk),
    }


def test_a_photo_that_is_sent_again_is_attached_once(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.STANDARD)
    client: Any = sign_in(user, site)
    answer = client.post(QUICK, body(site), headers=JSON).json()
    once = str(uuid.uuid4())
    for _ in range(2):
        photo = SimpleUploadedFile("1.png", b"\x89PNG\r\n\x1a\n" + b"0" * 20, "image/png")
        assert len(client.post(answer["attach"], {"files": photo, "once": once}, headers=JSON).json()["added"]) == 1
    assert Attachment.objects.count() == 1
    other = client.post(QUICK, body(site), headers=JSON).json()
    photo = SimpleUploadedFile("1.png", b"\x89PNG\r\n\x1a\n" + b"0" * 20, "image/png")
    other_answer = client.post(other["attach"], {"files": photo, "once": once}, headers=JSON)
    assert len(other_answer.json()["added"]) == 1
    assert Attachment.objects.count() == 2


def test_readers_are_not_offered_the_form(site: Site) -> None:
    client: Any = browser(site, DefaultRole.READER)
    assert client.get(QUICK).status_code == 403
    assert client.post(QUICK, body(site)).status_code == 403
    assert QUICK not in client.get(list_address(Complaint)).content.decode()
    assert QUICK in browser(site, DefaultRole.STANDARD).get("/admin/").content.decode()
