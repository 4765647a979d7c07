"""Complaints taken over from an earlier register, many at once."""

import datetime
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from records.accounts.models import DefaultRole
from records.backoffice.date_filters import bare
from records.complaints import actions
from records.complaints.models import Complaint
from records.history.models import Change
from records.sites.models import Entity
from tests import make
from tests.make import SYSTEM
from tests.make.chains import broken_links
from tests.make.complaints import make_complaint, required_of


def test_a_hundred_are_imported_and_the_next_added_one_has_the_next_number(site: Any) -> None:
    make_complaint(site)
    required = required_of(site)
    values = {
        **required,
        "owner": make.make_user(site=site, role=DefaultRole.STANDARD),
        "entity_folder": make.make_folder(site, Entity.COMPLAINT),
        "date": bare(datetime.date(2026, 3, 1)),
        "answered_on": bare(datetime.date(2026, 3, 2)),
    }
    rows = [{**values, "trace_number": f"L{number}"} for number in range(100)]
    rows[5] |= {"record_status": "Completed", "review_report": "Closed long ago."}
    with CaptureQueriesContext(connection) as queries:
        complaints = actions.import_complaints(site.pk, rows, author=SYSTEM, reason="Old register")
    assert len(queries) < 16
    assert [complaint.site_sequence_id for complaint in complaints] == list(range(2, 102))
    assert make_complaint(site).site_sequence_id == 102
    complaint = Complaint.objects.get(site_sequence_id=7)
    assert (complaint.record_status, complaint.trace_number_key) == ("Completed", "l5")
    changes = Change.objects.filter(operation="ImportComplaints")
    assert (changes.count(), {change.reason for change in changes}) == (100, {"Old register"})
    assert list(broken_links(site.pk)) == []


def test_an_archived_folder_and_an_owner_of_another_site_are_refused_in_their_rows(site: Any, other_site: Any) -> None:
    required = required_of(site)
    archived = make.make_folder(site, Entity.COMPLAINT, is_archived=True)
    outsider = make.make_user(site=other_site, role=DefaultRole.STANDARD)
    rows = [required, {**required, "entity_folder": archived}, {**required, "owner": outsider}]
    with pytest.raises(ValidationError) as fault:
        actions.import_complaints(site.pk, rows, author=SYSTEM)
    assert [message.partition(":")[0] for message in fault.value.messages] == ["Row 2, entity_folder", "Row 3, owner"]


def test_one_faulty_row_and_none_is_stored(site: Any) -> None:
    required = required_of(site)
    rows = [required, {**required, "product": None}, {**required, "record_status": "Completed"}]
    with pytest.raises(ValidationError) as fault:
        actions.import_complaints(site.pk, rows, author=SYSTEM)
    assert fault.value.messages == [
        "Row 2, product: This field is required.",
        "Row 3, review_report: A completed complaint needs a review report.",
    ]
    assert not Complaint.objects.exists()
    assert not Change.objects.filter(model="complaints.Complaint").exists()
    assert make_complaint(site).site_sequence_id == 1
