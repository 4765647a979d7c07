"""The units sold are entered, changed and imported once a month, with their history, by Managers."""

import datetime
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.complaints import actions
from records.complaints.models import UnitsSold
from records.history.models import Change
from records.sites.models import Site
from tests.make import SYSTEM
from tests.make.backoffice import address, browser, form_of, list_address, save
from tests.make.chains import broken_links
from tests.make.complaints import make_units_sold
from tests.make.transfer import bring_in, check, export, faults, table

ADD = reverse("admin:complaints_unitssold_add")
MARCH = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


def changes() -> list[tuple[str, str]]:
    rows = Change.objects.filter(model="complaints.UnitsSold").order_by("number")
    return list(rows.values_list("operation", "reason"))


def enter(client: Any, **values: str) -> Any:
    return client.post(ADD, {**form_of(client.get(ADD)), **values})


def test_a_manager_enters_a_month_by_any_of_its_days_and_changes_it_with_a_reason(site: Site) -> None:
    client = browser(site)
    assert enter(client, month="2026-03-17", units="250000").status_code == 302
    march = UnitsSold.objects.get()
    assert (march.site, march.month, march.units, str(march)) == (site, MARCH, 250_000, "March 2026")
    assert "March 2026" in client.get(list_address(UnitsSold)).content.decode()
    assert "March 2026" not in client.get(f"{list_address(UnitsSold)}?q=zebra").content.decode()
    assert save(client, march, units="260000").status_code == 200, "A change needs a reason."
    assert save(client, march, units="260000", change_reason="Returns counted").status_code == 302
    march.refresh_from_db()
    assert march.units == 260_000
    assert changes() == [("AddUnitsSold", ""), ("UpdateUnitsSold", "Returns counted")]
    assert "Returns counted" in client.get(address(march, "history")).content.decode()
    assert list(broken_links(site.pk)) == []


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"month": "2026-03-31", "units": "5"}, "entered already"),
        ({"month": "2026-04-01", "units": "0"}, "greater than or equal to 1"),
        ({"month": "2026-04-01", "units": "9" * 13}, "less than or equal to"),
        ({"month": "2026-04-01", "units": ""}, "required"),
        ({"month": "", "units": "5"}, "required"),
    ],
)
def test_what_cannot_be_is_refused_and_stores_nothing(site: Site, values: dict[str, str], text: str) -> None:
    make_units_sold(site, "2026-03", 10)
    answer = enter(browser(site), **values)
    assert answer.status_code == 200
    assert text in answer.content.decode()
    assert UnitsSold.objects.count() == 1
    assert len(changes()) == 1


def test_each_site_has_its_own_month_and_a_change_to_a_taken_month_is_refused(site: Site, other_site: Site) -> None:
    make_units_sold(site, "2026-03", 10)
    make_units_sold(other_site, "2026-03", 20)
    april = make_units_sold(site, "2026-04", 30)
    with pytest.raises(ValidationError, match="entered already"):
        actions.update_units_sold(site.pk, april.pk, {"month": MARCH}, author=SYSTEM, reason="Mistyped")
    april.refresh_from_db()
    assert april.month.month == 4


def test_readers_see_the_units_and_only_managers_write_them(site: Site, other_site: Site) -> None:
    march, elsewhere = make_units_sold(site, "2026-03", 10), make_units_sold(other_site, "2026-03", 20)
    for role in (DefaultRole.READER, DefaultRole.STANDARD):
        client = browser(site, role)
        assert client.get(list_address(UnitsSold)).status_code == 200
        assert client.get(ADD).status_code == 403
        assert client.post(address(march), {"units": "11"}).status_code == 403
        assert client.get(address(elsewhere)).status_code == 404
    assert browser(site).get(address(elsewhere)).status_code == 404


def test_a_file_adds_new_months_and_changes_those_that_are_there(site: Site, other_site: Site) -> None:
    make_units_sold(site, "2026-03", 10)
    make_units_sold(other_site, "2026-04", 7)
    client = browser(site)
    rows = [{"Month": "2026-03-01", "Units": "12"}, {"Month": "2026-04-01", "Units": "30"}]
    bring_in(client, UnitsSold, rows, reason="Sales ledger")
    months = UnitsSold.objects.filter(site=site).order_by("month").values_list("month__month", "units")
    assert list(months) == [(3, 12), (4, 30)]
    assert changes()[2:] == [("UpdateUnitsSold", "Sales ledger"), ("AddUnitsSold", "Sales ledger")]
    assert UnitsSold.objects.get(site=other_site).units == 7
    exports = [(row["Month"], row["Units"]) for row in table(export(client, UnitsSold))]
    assert exports == [("2026-04-01", "30"), ("2026-03-01", "12")]
    again = check(client, UnitsSold, rows)
    assert again.context["unchanged"] == 2


def test_a_file_with_a_faulty_row_stores_nothing(site: Site) -> None:
    client = browser(site)
    report = check(client, UnitsSold, [{"Month": "2026-03-01", "Units": "12"}, {"Month": "2026-04-01", "Units": "-1"}])
    [[number, [fault]]] = faults(report).items()
    assert (number, fault.partition(":")[0]) == (3, "Units")
    assert not report.context["upload"]
    assert not UnitsSold.objects.exists()
