"""The inside of a Checklist: its questions, in the order in which an audit asks them."""

from collections.abc import Sequence

from records.reference.models import Checklist
from records.sites.writing import Values, replace_children


def put_questions(checklist: Checklist, rows: Sequence[Values]) -> None:
    """Make rows (id, question) the checklist's questions, in that order; needs a transaction.

    A question that is missing is removed: findings keep the words that it gave them. Raises ValidationError.
    """
    replace_children(checklist, "questions", rows)
