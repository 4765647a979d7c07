"""The demo's audits: twelve programs a site, each with an audit, in every state, some overdue."""

import random

from records.audits.models import AuditProgram, AuditRecord, RecordStatus
from records.audits.schedule import overdue_audits
from records.desk.demo import audits, lists, people
from records.desk.demo.place import Place
from tests import make


def test_the_demo_has_twelve_programs_with_audits_in_every_state(db):
    site = make.make_site("Hillside Bakery", code="HILL", time_zone="Europe/London")
    place = Place(site, False, make.make_user(is_superuser=True), random.Random(7))
    for part in (lists, people, audits):
        part.fill(place)
    assert AuditProgram.objects.filter(site=site).count() == len(audits.PROGRAMS) == 12
    assert not AuditProgram.objects.filter(records=None).exists()
    statuses = set(AuditRecord.objects.values_list("record_status", flat=True))
    assert statuses == set(RecordStatus.values)
    overdue = overdue_audits(site)
    assert {audit.record_status for audit in overdue} == {"Scheduled", "In Progress"}
    assert not AuditRecord.objects.filter(is_archived=True).exists()
    scored = AuditRecord.objects.filter(record_status="Completed", rating_scale__isnull=False, score__isnull=False)
    assert scored.count() > 10
