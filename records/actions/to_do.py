"""Actions that the person has to carry out or to judge."""

from collections.abc import Callable
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext

from records.accounts import access
from records.actions.models import Action, Status
from records.backoffice.about import address_of, existing_for, list_of
from records.backoffice.to_do import Line, Section, ToDo, Viewer
from records.history.models import Change


def own_actions(viewer: Viewer) -> Section:
    """Return the open actions that this person owns, at all sites where they may see actions."""
    section = Section(
        "actions",
        gettext("My actions"),
        gettext("You have no open actions."),
        list_url=list_of(Action, mine="yes", record_status__exact=Status.OPEN.value),
        next_url=viewer.form_for(Action, "actions.add_action"),
        next_label=gettext("Add an action"),
    )
    sites = access.sites_where(viewer.user, "actions.view_action")
    rows = Action.objects.filter(owner=viewer.user, record_status=Status.OPEN, is_archived=False, site__in=sites)
    moves = Change.objects.filter(record_id=OuterRef("pk"), model=Action._meta.label).exclude(operation="AddAction")
    open_actions = rows.annotate(came_back=Exists(moves.naming("field", "record_status")))
    usual_task, returned_task = (
        gettext("Do it and mark it as done"),
        gettext("It came back: read why on its page, and finish it"),
    )
    return _fill(viewer, section, open_actions, lambda action: returned_task if action.came_back else usual_task)


def to_judge(viewer: Viewer) -> Section:
    """Return the current site's actions that are Done and that this person may close."""
    section = Section(
        "judge",
        gettext("Actions to judge"),
        gettext("No action of another person is waiting to be judged."),
        list_url=list_of(Action, record_status__exact=Status.DONE.value),
    )
    done = Action.objects.at(viewer.site).filter(record_status=Status.DONE, is_archived=False)
    actions = done.exclude(owner=viewer.user).filter(~Q(done_by=viewer.user) | Q(done_by=None))
    existing = existing_for(viewer.user, actions, viewer.site_ids)
    return _fill(viewer, section, existing, lambda action: gettext("Judge whether it worked"))


def _fill(viewer: Viewer, section: Section, rows: QuerySet[Any], task_of: Callable[[Any], str]) -> Section:
    def line(action: Action) -> Line:
        task = task_of(action)
        priority = action.get_priority_display()
        text = gettext("%(task)s, priority %(priority)s") % {"task": task, "priority": priority} if priority else task
        return viewer.due_line(action.name, address_of(action), text, action.due_date, action.site_id)

    return section.show(rows.order_by("due_date", "id"), line)


SECTIONS = (ToDo(30, own_actions), ToDo(40, to_judge, "actions.close_action"))
