"""The id of a request is found in its log lines, its tasks, their lines and mails, and the history."""

import json
import logging
from typing import Any

import pytest
from django.core.mail import send_mail
from django_tasks_db.models import DBTaskResult

from records.history.models import Change
from records.history.origin import origin, origin_id, working_for
from records.history.trail import Author, Channel
from records.items.models import Item
from records.operations import mails
from records.operations.housekeeping import clean_up
from records.operations.logs import JsonFormatter
from records.sites.models import Site
from records.sites.writing import add_record
from tests import make
from tests.conftest import Api


def line(**extra: Any) -> dict[str, Any]:
    """Return a log line that is written now."""
    record = logging.LogRecord("larder.worker", logging.INFO, __file__, 1, "Done.", None, None)
    record.__dict__.update(extra)
    content: dict[str, Any] = json.loads(JsonFormatter().format(record))
    return content


def task_result(request_id: str = "") -> DBTaskResult:
    """Return a task that a request enqueued just now, or nobody."""
    if not request_id:
        return DBTaskResult.objects.get(pk=clean_up.enqueue().id)
    with working_for(request_id, lambda: "AddItem"):
        return DBTaskResult.objects.get(pk=clean_up.enqueue().id)


def test_a_task_works_under_the_id_of_the_request_that_enqueued_it(db: None) -> None:
    with mails.running(task_result("request-1")):
        request = origin()
        assert request is not None
        assert (request.id, request.operation()) == ("request-1", "records.operations.housekeeping.clean_up")
        assert line()["request_id"] == "request-1"
        later = task_result()
    with mails.running(later):
        assert origin_id() == "request-1"
    assert origin() is None


def test_a_task_that_no_request_enqueued_works_under_its_own_id(db: None) -> None:
    task = task_result()
    with mails.running(task):
        assert origin_id() == str(task.pk)


def test_a_log_line_names_the_request_that_it_was_given_before_the_one_being_answered() -> None:
    with working_for("request-1", lambda: ""):
        assert line(request_id="request-2")["request_id"] == "request-2"
    assert "request_id" not in line()


def test_a_mail_of_a_task_names_the_request(db: None, mailoutbox: Any, settings: Any) -> None:
    settings.EMAIL_SENDER = settings.EMAIL_BACKEND
    settings.EMAIL_BACKEND = "records.operations.mails.MailBackend"
    with mails.running(task_result("request-1")):
        send_mail("Due tomorrow", "Text", None, ["nora@example.com"])
    send_mail("From a command", "Text", None, ["nora@example.com"])
    assert [mail.extra_headers.get("X-Request-Id") for mail in mailoutbox] == ["request-1", None]


def test_a_change_of_a_task_names_the_request(site: Site) -> None:
    with mails.running(task_result("request-1")):
        item = add_record(
            Item(site=site, name="Scale"), author=Author(None, "Larder", Channel.SYSTEM), operation="AddItem"
        )
    assert Change.objects.get(record_id=item.pk).request_id == "request-1"


def test_a_request_leaves_its_id_in_the_answer_and_in_the_history(api: Api) -> None:
    answer = api.post("/item/AddItem", {"Name": "Scale"})
    assert Change.objects.get(record_id=answer.json()["Id"]).request_id == answer["X-Request-Id"]
    assert origin() is None


def test_the_log_line_of_a_write_names_the_record(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    body = make.employee_body()
    key = api.post("/employee/AddEmployee", body).json()["Id"]
    api.put(f"/employee/UpdateEmployee/{key}", body)
    api.post("/employee/AddEmployee?validateOnly=true", body)
    api.get(f"/employee/GetEmployee/{key}")
    assert [vars(one)["record"] for one in caplog.records if one.name == "larder.access"] == [key, key, None, None]
