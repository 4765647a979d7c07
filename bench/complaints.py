"""GetComplaint, and AddComplaintDetail with 8 writers, against the bare floor doing the same statements."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from bench import harness  # noqa: E402
from bench.write import WRITERS, floor_insert, post_script  # noqa: E402
from records.complaints.models import Complaint  # noqa: E402
from records.history.trail import broken_links  # noqa: E402
from records.sites.models import SiteSequence  # noqa: E402


def main() -> None:
    """Measure and print."""
    demo = harness.prepare_demo()
    site_id, key = demo["site"]["id"], demo["subscription_key"]
    template = Complaint.objects.filter(site_id=site_id, site_sequence_id__isnull=False).latest("site_sequence_id")
    columns = ", ".join(f'"{field.column}"' for field in Complaint._meta.concrete_fields)
    query = f"SELECT {columns} FROM complaints_complaint WHERE id = %s"  # noqa: S608
    body = {
        "CustomerId": str(template.customer_id),
        "ProductId": str(template.product_id),
        "NonconformanceId": str(template.nonconformance_id),
        "TraceNumber": "L26057-2",
        "Quantity": 2,
        "ComplaintDescription": "A piece of blue plastic in the crumb.",
    }
    reads, writes = [], []
    insert = floor_insert(Complaint, template)
    with (
        harness.serving("config.wsgi") as product,
        harness.serving("bench.floor:application", FLOOR_QUERY=query, FLOOR_INSERT=insert) as floor,
    ):
        one = f"{product}/complaint/GetComplaint/{template.pk}"
        assert harness.get(one, Ocp_Apim_Subscription_Key=key)[0] == 200
        for _ in range(harness.ROUNDS):
            ours = harness.wrk(one, Ocp_Apim_Subscription_Key=key)
            reads.append((ours, harness.wrk(f"{floor}/read/{template.pk}")))
            script = post_script(body)
            ours = harness.wrk(
                f"{product}/complaint/AddComplaintDetail",
                connections=WRITERS,
                script=script,
                Ocp_Apim_Subscription_Key=key,
            )
            writes.append((ours, harness.wrk(f"{floor}/write", connections=WRITERS, script=script)))
    harness.compare("GetComplaint", reads)
    harness.compare(f"AddComplaintDetail, {WRITERS} writers", writes)
    numbered = Complaint.objects.filter(site_id=site_id, site_sequence_id__isnull=False).count()
    assert numbered == SiteSequence.objects.get(site_id=site_id, entity="complaint").last, (
        "a number was lost or doubled"
    )
    assert not list(broken_links(template.site_id)), "the trail has a broken link"


if __name__ == "__main__":
    main()
