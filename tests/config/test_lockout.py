"""Which name a failed sign-in is counted for."""

import pytest
from django.test import RequestFactory

from config.lockout import attempted_name


@pytest.mark.parametrize("typed", ["Ann", " ann ", "ANN"])
def test_another_case_gives_no_further_tries(typed):
    assert attempted_name(RequestFactory().post("/"), {"username": typed}) == "ann"


def test_the_form_is_read_where_no_credentials_are_handed_over():
    assert attempted_name(RequestFactory().post("/", {"username": "Ann"}), None) == "ann"
    assert attempted_name(RequestFactory().post("/"), None) is None


def test_a_name_longer_than_the_column_is_cut():
    assert attempted_name(RequestFactory().post("/"), {"username": "x" * 5000}) == "x" * 255
