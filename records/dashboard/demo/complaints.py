"""The demo's complaints: two years with their seasons, one cluster that a manager should see, and some drafts."""

import datetime
import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

from records.complaints import actions, workflow
from records.complaints.models import Complaint, RecordStatus, Severity
from records.dashboard.demo.demo_site import DemoSite, content
from records.history.trail import Channel, recording
from records.reference.models import Title
from records.sites.models import Entity

TWO_YEARS, IMPORTED_DAYS = 730, 60
CLUSTER_DAYS_AGO, CLUSTER = 140, 17

DAYS_TO_ANSWER = {Severity.CRITICAL: 5, Severity.MAJOR: 10, Severity.MINOR: 21}


def fill(place: DemoSite) -> None:
    """Add two years of complaints, most of them completed, in the order of their dates.

    Complaints older than two months are imported from an earlier register; newer ones are entered and completed here.
    """
    rows = [_ordinary(place, day) for day in _days(place)]
    if place.main:
        rows += [_of_the_cluster(place, number) for number in range(CLUSTER)]
    rows.sort(key=lambda values: values["date"])
    for number, values in enumerate(rows):
        values.update(_handling(place, number, values))
    turn = place.today - datetime.timedelta(days=IMPORTED_DAYS)
    officer, manager, site_id = place.author(place.users.get("standard")), place.author(), place.site.pk
    old = [values for values in rows if values["date"] < turn]
    for values in old:
        report = values.pop("review")
        if _is_reviewed(place, values["date"]):
            values.update(record_status=RecordStatus.COMPLETED, review_report=report)
    register = replace(manager, channel=Channel.IMPORT)
    complaints = list(
        actions.import_complaints(site_id, old, author=register, reason="Taken over from the old register")
    )
    with recording():
        for values in rows[len(old) :]:
            report = values.pop("review")
            complaint = actions.add_complaint_detail(site_id, values, author=officer)
            if _is_reviewed(place, values["date"]):
                workflow.complete(site_id, complaint.pk, author=manager, review_report=report)
            complaints.append(complaint)
        _add_drafts(place)
        _add_units_sold(place)
    place.records["Complaint"] = complaints


def _days(place: DemoSite) -> list[int]:
    """Return how many days ago each ordinary complaint was made; growing trade brings slowly more of them."""
    chance, often = place.chance, 0.75 if place.main else 0.35
    days = []
    for ago in range(TWO_YEARS, 0, -1):
        rate = often * (1.15 - 0.3 * ago / TWO_YEARS) * (1 + 0.35 * _summer(place, ago))
        days += [ago] * sum(chance.random() < rate / 3 for _ in range(3))
    return days


def _summer(place: DemoSite, ago: int) -> float:
    """Return 1 in the middle of July, -1 in the middle of January, and what lies between."""
    day = (place.today - datetime.timedelta(days=ago)).timetuple().tm_yday
    return math.cos((day - 197) * 2 * math.pi / 365)


def _ordinary(place: DemoSite, ago: int) -> dict[str, Any]:
    chance, summer = place.chance, _summer(place, ago)
    stories = content("complaints")["stories"]
    story = chance.choices(stories, [entry["weight"] * max(0.1, 1 + entry["season"] * summer) for entry in stories])[0]
    name, text, review = story["nonconformance"], chance.choice(story["descriptions"]), story["review"]
    return _values(place, ago, name, text, review, product=chance.choice(place.lists["Product"]))


def _of_the_cluster(place: DemoSite, number: int) -> dict[str, object]:
    """Return one of the complaints that belong together: one lot, one line, one fault, within ten days."""
    lot = (place.today - datetime.timedelta(days=CLUSTER_DAYS_AGO + 3)).strftime("L%y%j-1")
    values = _values(
        place,
        CLUSTER_DAYS_AGO - number * 10 // CLUSTER,
        "Foreign body",
        "A piece of blue plastic, some 4 mm long, in the crumb.",
        "Scraper of divider 1 was chipped. Divider stopped, scraper replaced by a detectable one, lot withdrawn.",
        product=place.lists["Product"][0],
    )
    return {**values, "trace_number": lot, "production_unit": place.lists["ProductionUnit"][0]}


def _values(place: DemoSite, ago: int, name: str, text: str, review: str, *, product: Any) -> dict[str, Any]:
    chance, lists = place.chance, place.lists
    date = min(place.days_ago(ago), place.today)
    manufacture_date = (date - datetime.timedelta(days=chance.randrange(1, 6))).replace(hour=0, minute=0)
    source = chance.choices(lists["ComplaintSource"], (6, 3, 0.2, 0.8))[0]
    consumer = {}
    if source.name == "Consumer":
        first, last = chance.choice(content("complaints")["consumers"])
        consumer = {
            "consumer_salutation": chance.choice(list(place.shared_entries(Title).values())[:4]),
            "consumer_first_name": first,
            "consumer_last_name": last,
            "consumer_purchased": f"Shop in {chance.choice(('the high street', 'the station', 'the new centre'))}",
            "consumer_email": f"{first}.{last}@mail.example".lower(),
        }
    return {
        "date": date,
        "customer": chance.choice(place.records["Customer"]),
        "source": source,
        "method": chance.choice(lists["ComplaintMethod"]),
        **consumer,
        "product": product,
        "quantity": Decimal(chance.choice((1, 1, 1, 2, 4, 12))),
        "manufacture_date": manufacture_date,
        "expiration_date": manufacture_date + datetime.timedelta(days=10),
        "trace_number": manufacture_date.strftime(f"L%y%j-{chance.randrange(1, 4)}"),
        "brand": chance.choice(lists["Brand"]),
        "production_unit": chance.choice(lists["ProductionUnit"]),
        "nonconformance": next(entry for entry in lists["Nonconformance"] if entry.name == name),
        "complaint_description": text,
        "entity_folder": place.folder(Entity.COMPLAINT, "Consumers" if consumer else "Retail"),
        "review": review,
    }


def _handling(place: DemoSite, number: int, values: dict[str, Any]) -> dict[str, Any]:
    """Return who handles a complaint, how serious it is, and when it was answered; the newest are not triaged yet."""
    age = (place.today - values["date"]).days
    if age < 3 or not (owners := [user for name, user in place.users.items() if name in ("manager", "standard")]):
        return {}
    day = values["date"].replace(hour=0, minute=0, second=0, microsecond=0)
    name = values["nonconformance"].name
    stories = content("complaints")["stories"]
    severity = Severity(next(entry["severity"] for entry in stories if entry["nonconformance"] == name))
    handling = {
        "owner": owners[number % len(owners)],
        "severity": severity,
        "target_date": day + datetime.timedelta(days=DAYS_TO_ANSWER[severity]),
    }
    took = (1, 2, 4, 5, 6, 9, 12, 20, 38)[number % 9]
    if took >= age:
        return handling
    causes = place.lists["Cause"]
    return {
        **handling,
        "cause": causes[min(number % 7, number % 11, len(causes) - 1)],
        "correction": "Stock of the lot was held and looked through." if severity != Severity.MINOR else "",
        "answered_on": day + datetime.timedelta(days=took),
    }


def _is_reviewed(place: DemoSite, date: datetime.datetime) -> bool:
    """Return whether the review is done: all but a few of the older ones, some of the newest."""
    days = (place.today - date).days
    return place.chance.random() < (0.97 if days > 60 else 0.7 if days > 14 else 0.1)


def _add_drafts(place: DemoSite) -> None:
    """Leave two drafts, as if somebody were still asking the caller for the lot."""
    for product in place.lists["Product"][:2]:
        draft: Complaint = workflow.add_draft(
            place.site.pk,
            {
                "date": place.days_ago(1),
                "product": product,
                "consumer_phone": "+44 1632 960111",
                "complaint_description": "Caller rings back with the lot number.",
            },
            author=place.author(place.users.get("standard")),
        )
        place.records.setdefault("Draft complaint", []).append(draft)


def _add_units_sold(place: DemoSite) -> None:
    """Enter what the site sold in each whole month of the two years, except one month that nobody entered."""
    register = replace(place.author(), channel=Channel.IMPORT)
    month, trade = place.today.replace(day=1, hour=0, minute=0, second=0, microsecond=0), 900_000
    for ago in range(1, 24):
        month = (month - datetime.timedelta(days=1)).replace(day=1)
        sold = round(trade * (1.15 - 0.3 * ago / 24) * (1 + 0.1 * _summer(place, ago * 30)), -3)
        if ago != 4:
            values = {"month": month, "units": int(sold)}
            actions.add_units_sold(place.site.pk, values, author=register, reason="From the sales ledger")
