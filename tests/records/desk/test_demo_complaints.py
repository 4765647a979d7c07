"""What the demo says of its complaints, customers and items."""

import datetime
from collections import Counter

import pytest

from records.complaints.models import Complaint, RecordStatus
from records.customers.models import Customer
from records.desk.demo import story
from records.history.models import Change
from records.history.trail import broken_links
from records.items.models import Item
from records.sites.models import Site


@pytest.mark.django_db
def test_the_demo_has_two_years_of_complaints_with_a_cluster() -> None:
    story.fill()
    for site in Site.objects.all():
        complaints = Complaint.objects.filter(site=site)
        numbered = complaints.exclude(record_status=RecordStatus.DRAFT)
        assert 100 < numbered.count() < 900
        assert list(numbered.values_list("site_sequence_id", flat=True)) == list(range(1, numbered.count() + 1))
        dates = [date for date in numbered.values_list("date", flat=True) if date is not None]
        assert len(dates) == numbered.count()
        assert dates == sorted(dates)
        assert dates[-1] - dates[0] > datetime.timedelta(days=700)
        assert set(complaints.values_list("record_status", flat=True)) == set(RecordStatus.values)
        assert not complaints.filter(is_archived=True).exists()
        assert Customer.objects.filter(site=site).count() >= 12
        assert Item.objects.filter(site=site).count() >= 10
        assert Change.objects.filter(site=site, model="complaints.Complaint").count() >= complaints.count()
        assert list(broken_links(site.pk)) == []
    main = Complaint.objects.filter(site__code="HILL")
    lots = Counter(main.values_list("trace_number", "production_unit", "nonconformance"))
    (_, most), (_, next_most) = lots.most_common(2)
    assert most >= 15 > 3 * next_most
    assert Customer.objects.filter(site__code="HILL").count() == 40
