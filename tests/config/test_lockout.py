"""Which name a failed sign-in is counted for."""

import pytest
from django.test import Client, RequestFactory

from config.lockout import attempted_name


@pytest.mark.parametrize("typed", ["Ann", " ann ", "ANN"])
def test_another_case_gives_no_further_tries(typed):
    assert attempted_name(RequestFactory().post("/"), {"username": typed}) == "ann"


def test_the_form_is_read_where_no_credentials_are_handed_over():
    assert attempted_name(RequestFactory().post("/", {"username": "Ann"}), None) == "ann"
    assert attempted_name(RequestFactory().post("/"), None) is None


def test_a_name_longer_than_the_column_is_cut():
    assert attempted_name(RequestFactory().post("/"), {"username": "x" * 5000}) == "x" * 255


@pytest.mark.django_db
def test_the_tenth_failure_locks_a_name_at_an_address_and_nowhere_else():
    typed = ["Ann", "ann", " ANN"] * 4
    answers = [fail("203.0.113.7", name) for name in typed]
    assert answers == [200] * 9 + [429] * 3
    assert fail("203.0.113.7", "ben") == 200
    assert fail("198.51.100.1", "ann") == 200


def fail(address, name):
    """Try a wrong password in the back-office and return the status of the answer."""
    form = {"username": name, "password": "wrong"}
    return Client(REMOTE_ADDR=address).post("/admin/login/", form).status_code
