"""Numbers, keys and revisions under real concurrent writers, on both databases."""

import pytest

from records.employees.models import Employee
from records.history.models import Change
from records.sites.models import SiteSequence
from tests import make
from tests.conftest import Api
from tests.make.chains import broken_links

WRITERS = 16


@pytest.mark.django_db(transaction=True)
def test_sixteen_writers_take_consecutive_numbers() -> None:
    site = make.make_site()
    key = make.make_key(site)
    body = make.employee_body(EducationTraining=[{"Title": "BSc"}])
    answers = make.at_once(*[lambda: Api(key).post("/employee/AddEmployee", body).status_code] * WRITERS)
    assert answers == [200] * WRITERS
    numbers = Employee.objects.filter(site=site).order_by("site_sequence_id").values_list("site_sequence_id", flat=True)
    assert list(numbers) == list(range(1, WRITERS + 1))
    assert SiteSequence.objects.get(site=site, entity="employee").last == WRITERS
    changes = Change.objects.filter(site=site).order_by("number").values_list("number", flat=True)
    assert list(changes) == list(range(1, len(changes) + 1))
    assert not list(broken_links(site.pk))


@pytest.mark.django_db(transaction=True)
def test_one_idempotency_key_used_at_once_writes_once() -> None:
    site = make.make_site()
    key = make.make_key(site)
    body = make.employee_body()

    def add() -> tuple[int, bytes]:
        answer = Api(key).post("/employee/AddEmployee", body, **{"Idempotency-Key": "once"})
        return answer.status_code, answer.content

    answers = set(make.at_once(*[add] * 8))
    assert len(answers) == 1
    assert answers.pop()[0] == 200
    assert Employee.objects.filter(site=site).count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_updates_of_one_revision_leave_one_winner() -> None:
    site = make.make_site()
    key = make.make_key(site)
    employee = make.make_employee(site)
    path = f"/employee/UpdateEmployee/{employee.pk}"

    def update() -> int:
        body = make.employee_body(Phone=str(id(object())))
        return int(Api(key).put(path, body, **{"If-Match": '"1"'}).status_code)

    assert sorted(make.at_once(*[update] * 6)) == [200, 412, 412, 412, 412, 412]
    assert Employee.objects.get().revision == 2
