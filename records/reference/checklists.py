"""The questions of a checklist, in the order in which an audit asks them."""

from collections.abc import Sequence

from records.reference.models import Checklist
from records.sites.writing import Values, replace_children


def put_questions(checklist: Checklist, rows: Sequence[Values]) -> None:
    """Make the rows (id, question) the checklist's questions, in their order; needs a transaction.

    A question that is not among the rows is removed; findings keep its words. Raises ValidationError.
    """
    replace_children(checklist, "questions", rows)
