"""A step is taken on the record that its page showed; whoever changed it meanwhile is named, and nothing is lost."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from documents.models import DocumentVersion
from records.accounts.models import DefaultRole, User
from records.actions.models import Status
from records.audits.models import AuditRecord
from records.backoffice import transitions
from records.complaints import actions
from records.history.digests import FieldChange
from records.history.models import Change
from records.sites.models import Site
from records.sites.writing import changing
from records.webhooks.models import Delivery
from tests import make
from tests.make.actions import DUE, make_action, move
from tests.make.audits import find, make_audit, make_program, start, submit
from tests.make.backoffice import address, browser, form_of, sign_in
from tests.make.complaints import make_complaint, make_completed, make_draft, required_of
from tests.make.customers import make_customer
from tests.make.documents import make_document
from tests.make.items import make_item
from tests.make.webhooks import make_webhook

pytestmark = pytest.mark.django_db

WHY = "Six lines of thoughts"


@dataclass(frozen=True)
class Step:
    """A step with a page: the record that it is taken on, and what is typed besides the reason."""

    make: Callable[[Site], Any]
    name: str
    data: dict[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()

    def place(self, record: Any) -> str:
        """Return the address of the step's page."""
        if self.name == "set":
            return reverse("admin:retention_hold", args=("set", record.ENTITY.value, record.pk))
        return reverse(f"admin:{record._meta.app_label}_{record._meta.model_name}_step", args=(record.pk, self.name))

    def form_data(self, page: Any) -> dict[str, Any]:
        """Return what is sent when the page is filled in."""
        files = {name: SimpleUploadedFile("tap.pdf", b"A new tap") for name in self.files}
        assert f'name="larder_seen" value="{page.context["seen"]}"' in page.text
        return {"larder_seen": page.context["seen"], "change_reason": WHY, **self.data, **files}


def _action(*statuses: Status) -> Callable[[Site], Any]:
    def make_in_status(site: Site) -> Any:
        action = make_action(site)
        for status in statuses:
            move(action, status, make.make_user(site=site, role=DefaultRole.MANAGER))
        return action

    return make_in_status


def _archived_employee(site: Site) -> Any:
    employee = make.make_employee(site, notes="Allergic to rye")
    make.archive(employee)
    return employee


def _audit(site: Site) -> Any:
    return make_audit(make_program(site))


def _answered_audit(site: Site) -> Any:
    return find(start(_audit(site)), None)


def _account(site: Site) -> User:
    return make.make_user(site=site, role=DefaultRole.READER)


def _webhook(site: Site) -> Any:
    return make_webhook(site, "https://receiver.invalid/larder")


STEPS = {
    "complaint, submit": Step(lambda site: make_draft(site, **required_of(site)), "submit"),
    "complaint, complete": Step(make_complaint, "complete", {"review_report": "Checked."}),
    "complaint, reopen": Step(make_completed, "reopen"),
    "complaint, erase": Step(lambda site: make_complaint(site, consumer_last_name="Przybylski"), "erase-consumer"),
    "action, done": Step(_action(), "done", {"result": "Painted."}),
    "action, close": Step(_action(Status.DONE), "close", {"effective": "yes"}),
    "action, send back": Step(_action(Status.DONE), "send-back"),
    "action, cancel": Step(_action(), "cancel"),
    "program, schedule": Step(lambda site: make_program(site, next_due_date=DUE), "schedule-next", {"count": "1"}),
    "program, plan": Step(make_program, "plan", {"date": "2031-05-01"}),
    "audit, start": Step(_audit, "start", {"start_date": "2026-03-02"}),
    "audit, submit": Step(_answered_audit, "submit"),
    "audit, complete": Step(lambda site: submit(_answered_audit(site)), "complete"),
    "audit, cancel": Step(_audit, "cancel"),
    "document, upload": Step(make_document, "upload", files=("file",)),
    "employee, account": Step(make.make_employee, "give-account", {"user_name": "quill"}),
    "employee, erase": Step(_archived_employee, "erase-private-facts"),
    "item, archive": Step(make_item, "archive"),
    "customer, hold": Step(make_customer, "set"),
    "folder, archive": Step(make.make_folder, "archive"),
    "account, end": Step(_account, "end-access"),
    "account, address": Step(_account, "recovery-address", {"recovery_address": "quill@corp.example"}),
    "webhook, pause": Step(_webhook, "pause"),
    "webhook, test": Step(_webhook, "test"),
}


def change(record: Any) -> None:
    """Change the record as Ann does; nothing of it is on the step's form."""
    ann = make.make_user("ann")
    notes: list[FieldChange] = [{"field": "legal_hold", "old": False, "new": False}]
    with changing(type(record), None, record.pk, author=make.author_of(ann), operation="Note", notes=notes):
        pass


def count_records() -> list[int]:
    """Return the number of records of each model to which steps add."""
    return [model.objects.count() for model in (Change, AuditRecord, DocumentVersion, Delivery, User)]


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("before_lock", [False, True], ids=["before", "just before the lock"])
def test_a_step_shows_what_was_changed_meanwhile_and_is_taken_by_the_second_press(
    site: Site, name: str, before_lock: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = STEPS[name]
    record = step.make(site)
    client = sign_in(make.make_user("root", site=site, is_superuser=True), site)
    url, counts = step.place(record), []
    page = client.get(url)

    def change_and_count() -> None:
        change(record)
        counts.append(count_records())

    if before_lock:
        compare = transitions.take_changes_meanwhile

        def compare_after_change(*args: Any) -> Any:
            changes = compare(*args)
            if not counts:
                change_and_count()
            return changes

        monkeypatch.setattr(transitions, "take_changes_meanwhile", compare_after_change)
    else:
        change_and_count()
    conflict = client.post(url, step.form_data(page))
    assert conflict.status_code == 200
    assert [one["author"] for one in conflict.context["conflict"]["changes"]] == ["Uma Ann"]
    assert "This record was changed while you were editing it" in conflict.text
    if "change_reason" in conflict.context["form"].fields:
        assert WHY in conflict.text
    assert [count_records()] == counts
    again = client.post(url, step.form_data(conflict))
    assert again.status_code == 302, again.text
    assert count_records() > counts[0]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "name",
    ["complaint, complete", "action, done", "program, plan", "document, upload", "employee, account", "customer, hold"],
)
def test_of_two_people_who_take_a_step_at_the_same_moment_one_does_and_the_other_is_shown_it(
    site: Site, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = STEPS[name]
    record = step.make(site)
    clients = [sign_in(make.make_user(f"root{one}", site=site, is_superuser=True), site) for one in range(2)]
    url, both = step.place(record), threading.Barrier(2)
    forms = [step.form_data(client.get(url)) for client in clients]
    before, changes = count_records(), Change.objects.filter(record_id=record.pk, model=record._meta.label)
    change_count, take = changes.count(), transitions.StepPages._take

    def take_together(*args: Any) -> None:
        both.wait(30)  # Both have compared what they saw, and found it unchanged.
        take(*args)

    monkeypatch.setattr(transitions.StepPages, "_take", take_together)
    posts = [partial(client.post, url, data) for client, data in zip(clients, forms, strict=True)]
    pages = make.at_once(*posts)
    assert sorted(page.status_code for page in pages) == [200, 302]
    [conflict] = [page for page in pages if page.status_code == 200]
    assert conflict.context["conflict"] or conflict.context["form"].errors
    assert changes.count() == change_count + 1
    differences = [after - count for after, count in zip(count_records(), before, strict=True)]
    assert differences[1:] == [name == "program, plan", name == "document, upload", 0, name == "employee, account"]


def test_a_step_that_is_sent_without_what_was_seen_shows_all_changes(site: Site) -> None:
    complaint = make_complaint(site)
    url = STEPS["complaint, complete"].place(complaint)
    page = browser(site).post(url, {"review_report": "Checked."})
    assert page.status_code == 200
    assert len(page.context["conflict"]["changes"]) == 1
    complaint.refresh_from_db()
    assert complaint.review_report == ""


def test_the_values_of_a_triage_stay_typed_and_those_left_alone_follow_the_record(site: Site) -> None:
    owner, other = (make.make_user(site=site, role=DefaultRole.STANDARD) for _ in range(2))
    complaint = make_complaint(site, severity="Minor")
    url = reverse("admin:complaints_complaint_step", args=(complaint.pk, "triage"))
    client = browser(site, DefaultRole.STANDARD)
    form = form_of(client.get(url))
    values = {"owner": other, "severity": "Critical"}
    author = make.author_of(make.make_user(site=site, role=DefaultRole.MANAGER))
    actions.update_complaint_detail(site.pk, complaint.pk, values, may_change_completed=False, author=author)
    page = client.post(url, {**form, "owner": str(owner.pk), "target_date": "2031-05-01"})
    assert page.status_code == 200
    assert page.context["conflict"]["both"] == ["Owner"]
    complaint.refresh_from_db()
    assert (complaint.owner, complaint.severity) == (other, "Critical")
    form = form_of(page)
    assert (form["owner"], form["severity"], form["target_date"]) == ([str(owner.pk)], ["Critical"], ["2031-05-01"])
    assert client.post(url, form).status_code == 302
    complaint.refresh_from_db()
    assert (complaint.owner, complaint.severity) == (owner, "Critical")


def test_a_report_that_was_stored_meanwhile_is_not_replaced_by_a_stale_one(site: Site) -> None:
    complaint = make_complaint(site, review_report="First")
    url = STEPS["complaint, complete"].place(complaint)
    client = browser(site)
    form = form_of(client.get(url))
    values = {"review_report": "Second"}
    actions.update_complaint_detail(
        site.pk, complaint.pk, values, may_change_completed=False, author=make.SYSTEM, reason="Found more"
    )
    assert form_of(client.post(url, form))["review_report"] == ["Second"]
    page = client.post(url, {**form, "review_report": "Third"})
    assert form_of(page)["review_report"] == ["Third"]
    assert "Found more" in page.text
    assert "Second" in page.text
    complaint.refresh_from_db()
    assert (complaint.review_report, complaint.is_completed) == ("Second", False)


def test_a_result_that_the_judge_did_not_see_is_not_closed(site: Site) -> None:
    owner, manager = (make.make_user(site=site, role=DefaultRole.MANAGER) for _ in range(2))
    action = move(make_action(site, owner=owner), Status.DONE, owner, result="Result A")
    client = sign_in(make.make_user(site=site, role=DefaultRole.MANAGER), site)
    url = STEPS["action, close"].place(action)
    page = client.get(url)
    assert "Result: Result A" in page.text
    move(action, Status.OPEN, manager)
    move(action, Status.DONE, owner, result="Result B")
    conflict = client.post(url, {**form_of(page), "effective": "yes"})
    assert conflict.status_code == 200
    assert "Result: Result B" in conflict.text
    action.refresh_from_db()
    assert action.record_status == Status.DONE
    answer: Any = client.post(url, form_of(conflict))
    assert (answer.status_code, answer.url) == (302, address(action, "read"))
    action.refresh_from_db()
    assert (action.record_status, action.effective) == (Status.CLOSED, True)
