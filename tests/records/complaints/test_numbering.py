"""Numbers of complaints under real concurrent writers."""

import pytest
from django.core.exceptions import ValidationError

from records.complaints import workflow
from records.complaints.models import Complaint
from records.history.models import Change
from records.sites.models import SiteSequence
from tests import make
from tests.conftest import Api
from tests.make.chains import broken_links
from tests.make.complaints import complaint_body, make_draft, required_of

WRITERS = 50


@pytest.mark.django_db(transaction=True)
def test_fifty_parallel_adds_give_fifty_consecutive_numbers() -> None:
    site = make.make_site("Hillside Bakery")
    key = make.make_key(site)
    body = complaint_body(site)
    answers = make.at_once(*[lambda: Api(key).post("/complaint/AddComplaintDetail", body)] * WRITERS)
    assert [answer.status_code for answer in answers] == [200] * WRITERS, {answer.content for answer in answers}
    assert len({answer.json()["Id"] for answer in answers}) == WRITERS
    numbers = Complaint.objects.order_by("site_sequence_id").values_list("site_sequence_id", flat=True)
    assert list(numbers) == list(range(1, WRITERS + 1))
    assert Change.objects.filter(model="complaints.Complaint").count() == WRITERS
    assert list(broken_links(site.pk)) == []


@pytest.mark.django_db(transaction=True)
def test_a_draft_that_two_submit_at_once_takes_one_number() -> None:
    site = make.make_site("Hillside Bakery")
    draft = make_draft(site, **required_of(site))
    faults: list[str] = []

    def submit() -> None:
        try:
            workflow.submit(site.pk, draft.pk, author=make.SYSTEM)
        except ValidationError as fault:
            faults.append(fault.messages[0])

    make.at_once(*[submit] * 4)
    assert len(faults) == 3
    assert all("Awaiting Review" in fault for fault in faults)
    assert SiteSequence.objects.get(site=site, entity="complaint").last == 1
    assert Complaint.objects.get().site_sequence_id == 1


@pytest.mark.django_db(transaction=True)
def test_adds_that_fail_beside_others_leave_no_gap() -> None:
    site = make.make_site("Hillside Bakery")
    key = make.make_key(site)
    good = complaint_body(site)
    bad = {**good, "ManufactureDate": "2024-05-02", "ExpirationDate": "2024-05-01"}
    api = Api(key)
    make.at_once(*(lambda body=body: api.post("/complaint/AddComplaintDetail", body) for body in [good, bad] * 6))
    numbers = Complaint.objects.order_by("site_sequence_id").values_list("site_sequence_id", flat=True)
    assert list(numbers) == list(range(1, 7))
