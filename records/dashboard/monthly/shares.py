"""A chart of shares by month, such as how many of a month's answers were in time, with lower control limits."""

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext

from records.backoffice.datetimes import NOTHING
from records.dashboard.figures.drawing import Cell, Chart, Column, Table, draw_columns, percent
from records.dashboard.figures.periods import Period, long_name, month_letters, short_name


@dataclass(frozen=True, slots=True)
class Share:
    """How many of a month's records have a property, with the numbers that its line of the table shows, linked."""

    month: datetime.date
    part: int
    whole: int
    cells: Sequence[Cell]
    url: str = ""

    @property
    def value(self) -> float | None:
        """Return the share from 0 to 1, or None in a month without records."""
        return self.part / self.whole if self.whole else None


def lower_limit(mean: float, size: int) -> float:
    """Return the lower control limit of a share among so many records, from 0 to 1.

    A p-chart: where each record has the property with the probability p, the share among n records has the variance
    p (1 - p) / n, so the limit lies three standard deviations below the mean: LCL = max(0, p̄ - 3·√(p̄ (1 - p̄) / n)).
    Source: NIST/SEMATECH e-Handbook of Statistical Methods, section 6.3.3.2, "Proportions Control Charts"
    (https://www.itl.nist.gov/div898/handbook/pmc/section3/pmc332.htm).
    """
    return max(0.0, mean - 3 * math.sqrt(mean * (1 - mean) / size))


def mean_of(shares: Sequence[Share], period: Period) -> float | None:
    """Return the share over all months that are over and have records; None without one."""
    used = [share for share in shares if share.whole and period.is_over(share.month)]
    return sum(share.part for share in used) / sum(share.whole for share in used) if used else None


def is_below(share: Share, mean: float | None) -> bool:
    """Return whether the month's share lies below its lower control limit."""
    return share.value is not None and mean is not None and share.value < lower_limit(mean, share.whole)


def draw_shares(chart: Chart, shares: Sequence[Share], period: Period, columns: Sequence[str], summary: str) -> None:
    """Draw the shares in percent, with their table; `columns` name the cells, `summary` is about all months.

    A month without records is a gap. A month that still runs is judged against the limit, but not averaged.
    """
    mean = mean_of(shares, period)
    bars, rows = [], []
    for share in shares:
        name, low = long_name(share.month), is_below(share, mean)
        limit = 100 * lower_limit(mean, share.whole) if mean is not None and share.whole else None
        remark = remark_of(share, period, mean)
        value = NOTHING if share.value is None else percent(share.value)
        kinds = ("gap" if share.value is None else "", "below beyond" if low else "", "running")
        kind = " ".join(kind for kind in kinds if kind and (kind != "running" or not period.is_over(share.month)))
        title = (
            gettext("%(name)s: %(shown)s of %(whole)s") % {"name": name, "shown": value, "whole": share.whole}
            + (f" ({remark})" if remark else "")
            if share.whole
            else gettext("%(name)s: none") % {"name": name}
        )
        label, second = month_letters(share.month), f"{share.month.year:04}"
        bars.append(Column(label, second, 100 * (share.value or 0), title, share.url, kind, limit or None))
        rows.append((Cell(name), *share.cells, Cell(value), Cell(remark)))
    levels = (
        [(gettext("mean %(percent)s") % {"percent": percent(mean)}, 100 * mean, "mean")] if mean is not None else []
    )
    whole, part = sum(share.whole for share in shares), sum(share.part for share in shares)
    chart.say(summary % {"part": part, "whole": whole, "name": period.name, "percent": percent(part / whole)})
    if mean is not None:
        chart.notes.append(
            gettext(
                "Mean %(percent)s over the whole months. The lower control limit of each month comes "
                "from its own number n (p-chart: mean - 3 √(mean (1 - mean) / n))."
            )
            % {"percent": percent(mean)}
        )
    low_months = [short_name(share.month) for share in shares if is_below(share, mean)]
    if low_months:
        chart.notes.append(
            gettext("▼ Below the limit: %(names)s. Look for a cause that is not chance.")
            % {"names": ", ".join(low_months)}
        )
    draw_columns(chart, bars, levels)
    chart.table = Table((gettext("Month"), *columns, gettext("Share"), gettext("Remark")), rows)


def remark_of(share: Share, period: Period, mean: float | None) -> str:
    """Return the remarks on a month's share: that it is below the limit, or that the month is not over."""
    remarks = (
        (gettext("below the limit"), is_below(share, mean)),
        (gettext("so far"), not period.is_over(share.month)),
    )
    return ", ".join(words for words, holds in remarks if holds)
