"""Answers kept under an Idempotency-Key: dropped once they have had their day."""

import datetime
from typing import Any

import pytest

from records.accounts.models import KeptAnswer
from records.history.trail import now
from records.items.models import Item
from records.operations.calls import CallBuffer
from records.operations.idempotency import LIFETIME
from tests import make


@pytest.mark.django_db(transaction=True)
def test_the_thread_that_writes_calls_drops_old_answers_once_an_hour() -> None:
    site = make.make_site()
    facts = {"user": make.make_user(site=site), "site": site, "operation": "AddItem"}
    buffer = CallBuffer()

    def keep_old(key: str) -> None:
        KeptAnswer.objects.create(**facts, key=key, created=now() - LIFETIME - datetime.timedelta(minutes=1))

    KeptAnswer.objects.create(**facts, key="young")
    keep_old("old")
    buffer._flush_apart()
    assert set(KeptAnswer.objects.values_list("key", flat=True)) == {"young"}
    keep_old("old again")
    buffer._flush_apart()
    assert set(KeptAnswer.objects.values_list("key", flat=True)) == {"young", "old again"}


def test_a_repeat_after_a_day_writes_again(api: Any) -> None:
    request = {"path": "/item/AddItem", "body": {"Name": "Scale"}, "Idempotency-Key": "order 77"}
    first = api.post(**request)
    for age, is_same in (
        (LIFETIME - datetime.timedelta(minutes=1), True),
        (LIFETIME + datetime.timedelta(minutes=1), False),
    ):
        KeptAnswer.objects.update(created=now() - age)
        again = api.post(**request)
        assert again.status_code == 200, again.content
        assert (again.json()["Id"] == first.json()["Id"]) == is_same
    assert Item.objects.count() == 2
