"""Plain functions that make complaints, and what they point at, for tests."""

import datetime
import itertools
from typing import Any

from records.complaints import actions, workflow
from records.complaints.models import Complaint, UnitsSold
from records.reference.actions import add_entry
from records.reference.models import Nonconformance, Product, SiteEntry
from records.retention.models import RetentionPeriod
from records.sites.models import Site
from records.sites.writing import add_record
from tests.make import SYSTEM
from tests.make.customers import make_customer

_counter = itertools.count(1)


def make_entry(model: type[SiteEntry], site: Site, name: str = "", **fields: Any) -> Any:
    """Make an entry of one of the site's lists."""
    values = {"name": name or f"{model.__name__} {next(_counter)}", **fields}
    return add_entry(model, values, author=SYSTEM, site_id=site.pk)


def required_of(site: Site) -> dict[str, Any]:
    """Return a customer, a product and a nonconformance of the site: what every complaint names."""
    return {
        "customer": make_customer(site),
        "product": make_entry(Product, site),
        "nonconformance": make_entry(Nonconformance, site),
    }


def complaint_body(site: Site, **fields: Any) -> dict[str, Any]:
    """Return a body for AddComplaintDetail with the required fields."""
    required = required_of(site)
    body = {
        "CustomerId": str(required["customer"].pk),
        "ProductId": str(required["product"].pk),
        "NonconformanceId": str(required["nonconformance"].pk),
    }
    return {**body, **fields}


def make_complaint(site: Site, **fields: Any) -> Complaint:
    """Make a complaint that awaits its review."""
    required = {} if {"customer", "product", "nonconformance"} <= fields.keys() else required_of(site)
    return actions.add_complaint_detail(site.pk, {**required, **fields}, author=SYSTEM)


def make_draft(site: Site, **fields: Any) -> Complaint:
    """Make a draft."""
    return workflow.add_draft(site.pk, fields, author=SYSTEM)


def make_completed(site: Site, **fields: Any) -> Complaint:
    """Make a complaint whose review is closed."""
    complaint = make_complaint(site, **fields)
    return workflow.complete(site.pk, complaint.pk, author=SYSTEM, review_report="Metal detector checked.")


def make_units_sold(site: Site, month: str, number: int) -> UnitsSold:
    """Enter the units sold in a month such as `2026-03`."""
    day = datetime.datetime.fromisoformat(f"{month}-01T00:00:00+00:00")
    return actions.add_units_sold(site.pk, {"month": day, "units": number}, author=SYSTEM)


def make_period(site: Site, *, months: int) -> RetentionPeriod:
    """Set for how many months a site keeps its complaints at least."""
    period = RetentionPeriod(site=site, entity="complaint", months=months)
    return add_record(period, author=SYSTEM, operation="AddRetentionPeriod")
