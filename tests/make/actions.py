"""Plain functions that make actions for tests, through the actions that the product uses."""

import datetime
import itertools
from typing import Any

from records.accounts.models import DefaultRole, User
from records.actions import actions
from records.actions.models import Action, Status
from records.actions.workflow import Mover
from records.sites.models import Site
from tests import make

_counter = itertools.count(1)
DUE = datetime.datetime(2031, 5, 1, tzinfo=datetime.UTC)


def make_action(site: Site, *, about: Any = None, owner: User | None = None, **fields: Any) -> Action:
    """Make an open action of an owner at the site, about a record or alone."""
    values = {
        "name": f"Action {next(_counter)}",
        "owner": owner or make.make_user(site=site, role=DefaultRole.READER),
        "due_date": DUE,
        **fields,
    }
    return actions.add_action(site.pk, values, author=make.SYSTEM, on=about)


def everything(permission: str) -> bool:
    """Return that all is permitted."""
    return True


def move(action: Action, to: Status, by: User, *, reason: str = "Because.", **values: Any) -> Action:
    """Take a step with an action as somebody who may do everything."""
    mover = Mover(make.author_of(by), everything, reason, values.get("effective"))
    changes = {"record_status": to, **values}
    if to == Status.DONE:
        changes.setdefault("result", "It is done.")
    return actions.update_action(action.site_id, action.pk, changes, mover=mover)
