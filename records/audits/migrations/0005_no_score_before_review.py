"""Clear the score, rating and result of unfinished audits, with a Change for each, because they have no score yet."""

from django.db import migrations
from django.db.models import F, Q

SCORED = ~Q(score=None) | ~Q(rating="") | ~Q(result="")


def empty_scores(apps, schema_editor):
    """Clear the values that earlier versions stored while findings were still being written; few audits are open."""
    from records.audits.models import AuditRecord
    from records.history.models import Channel
    from records.history.trail import Author, now, recording

    author = Author(id=None, name="Larder", channel=Channel.SYSTEM)
    names = ("score", "rating", "result")
    # Only the columns that exist at this point of the migrations, whatever the model has later.
    rows = AuditRecord._base_manager.filter(SCORED).exclude(record_status__in=("Awaiting Review", "Completed"))
    rows = rows.select_related("audit_program").only("site", "site_sequence_id", "audit_program__name", *names)
    for row in rows.iterator(chunk_size=500):
        changed = [
            {"field": name, "old": None if old is None else str(old), "new": new}
            for name, old, new in zip(names, (row.score, row.rating, row.result), (None, "", ""), strict=True)
            if old != new
        ]
        with recording() as trail:
            AuditRecord._base_manager.filter(pk=row.pk).update(
                score=None, rating="", result="", revision=F("revision") + 1, last_modified=now()
            )
            reason = "An audit has no score before it is handed in for review."
            trail.add(row, changed, author=author, operation="SaveFindings", reason=reason)


class Migration(migrations.Migration):
    dependencies = [
        ("audits", "0004_index_parts_of_findings"),
        ("history", "0004_follow_change"),
    ]

    operations = [migrations.RunPython(empty_scores, migrations.RunPython.noop)]
