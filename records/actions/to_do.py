"""Actions that the person has to carry out or to judge."""

from django.db.models import Q, QuerySet
from django.utils.translation import gettext

from records.accounts import access
from records.actions.models import Action, Status
from records.backoffice.about import address_of, existing_for, list_of
from records.backoffice.to_do import Line, Section, ToDo, Viewer


def own(viewer: Viewer) -> Section:
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
    return _filled(viewer, section, rows, gettext("Do it and mark it as done"))


def to_judge(viewer: Viewer) -> Section:
    """Return the current site's actions that are Done and that this person may close."""
    section = Section(
        "judge",
        gettext("Actions to judge"),
        gettext("No action of another person is waiting to be judged."),
        list_url=list_of(Action, record_status__exact=Status.DONE.value),
    )
    done = Action.objects.at(viewer.site).filter(record_status=Status.DONE, is_archived=False)
    others = done.exclude(owner=viewer.user).filter(~Q(done_by=viewer.user) | Q(done_by=None))
    existing = existing_for(viewer.user, others, viewer.site_ids)
    return _filled(viewer, section, existing, gettext("Judge whether it worked"))


def _filled(viewer: Viewer, section: Section, rows: QuerySet[Action], task: str) -> Section:
    def line(action: Action) -> Line:
        priority = action.get_priority_display()
        what = gettext("%(task)s, priority %(priority)s") % {"task": task, "priority": priority} if priority else task
        return viewer.due_line(action.name, address_of(action), what, action.due_date, action.site_id)

    return section.of(rows.order_by("due_date", "id"), line)


SECTIONS = (ToDo(30, own), ToDo(40, to_judge, "actions.close_action"))
