"""What a person still has to do, before and after the person's access ends."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from records.accounts.models import DefaultRole, User
from records.actions.models import Action, Status
from records.complaints.models import Complaint
from records.employees.models import Employee
from records.history.trail import now
from records.sites.models import Site
from tests import make
from tests.make.actions import make_action, move
from tests.make.audits import make_audit, make_program
from tests.make.backoffice import address, browser, form_of, list_address, make_superuser, sign_in
from tests.make.complaints import make_complaint
from tests.make.documents import make_document, make_signer

ADMINISTRATOR, READER = DefaultRole.SITE_ADMINISTRATOR, DefaultRole.READER
END = "admin:accounts_user_step"


@pytest.fixture
def ada(site: Site, other_site: Site) -> User:
    """Return a person who owns much, at two sites."""
    ada = make_signer(site, given_name="Ada", family_name="")
    make.give_role(ada, other_site, DefaultRole.STANDARD)
    for _ in range(2):
        make_action(site, owner=ada)
    make_action(other_site, owner=ada)
    move(make_action(site, owner=ada), Status.DONE, ada)
    make_complaint(site, owner=ada)
    make_complaint(site, owner=ada, answered_on=now())
    auditor = make.make_employee(site, id=ada.pk)
    Employee.objects.filter(pk=auditor.pk).update(user=ada)
    make_audit(make_program(site), auditors=[auditor])
    make_document(site, user_to_review=[ada])
    make_document(site, author=make.author_of(ada), review_date=now())
    make_document(site, author=make.author_of(ada))
    return ada


TASKS = "3 open actions, 1 complaint to answer, 1 audit, 1 document to review, 1 signature"


def test_what_a_person_still_has_to_do_is_said_before_and_after_their_access_ends(site: Site, ada: User) -> None:
    client = sign_in(make_superuser(), site)
    assert f"Has to do: {TASKS}." in client.get(address(ada, "read")).content.decode()
    place = reverse(END, args=(ada.pk, "end-access"))
    step = client.get(place)
    assert f"Has to do: {TASKS}." in step.content.decode()
    assert client.post(place, {**form_of(step), "change_reason": "Left"}).status_code == 302
    assert f"Still has to do: {TASKS}." in client.get(address(ada, "read")).content.decode()
    idle = make.make_user(site=site, role=READER)
    assert "as to do:" not in client.get(address(idle, "read")).content.decode()


def test_only_what_the_user_may_see_is_counted(site: Site, other_site: Site, ada: User) -> None:
    page = browser(other_site, ADMINISTRATOR).get(address(ada, "read")).content.decode()
    assert "Has to do: 1 open action." in page


def test_the_sentence_costs_the_same_for_few_and_for_many(site: Site, ada: User) -> None:
    client = browser(site, ADMINISTRATOR)

    def cost() -> int:
        client.get(address(ada, "read"))
        with CaptureQueriesContext(connection) as queries:
            client.get(address(ada, "read"))
        return len(queries)

    few = cost()
    for _ in range(3):
        make_action(site, owner=ada)
        make_complaint(site, owner=ada)
    assert cost() == few


@pytest.mark.parametrize("kind", [Action, Complaint])
def test_a_list_shows_what_belongs_to_people_without_access(site: Site, kind: Any) -> None:
    leaver, member = make_signer(site), make_signer(site)
    make_record = make_action if kind is Action else make_complaint
    record = make_record(site, owner=leaver)
    make_record(site, owner=member)
    make_complaint(site)
    User.objects.filter(pk=leaver.pk).update(is_active=False)
    page = browser(site).get(f"{list_address(kind)}?mine=gone")
    assert "Owner without access" in page.content.decode()
    assert list(page.context["cl"].result_list) == [record]
