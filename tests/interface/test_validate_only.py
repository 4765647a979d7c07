"""What a write with `validateOnly` does, for every row that writes: it checks everything and stores nothing."""

import copy
from pathlib import Path
from typing import Any

import pytest

from records.accounts.models import KeptAnswer
from records.history.models import Change
from tests.interface.subjects import ENDPOINT_OPERATIONS, body_for, ids_of, model_of, path_of, record_for
from tests.interface.test_doors import is_error

write_operations = [entry for entry in ENDPOINT_OPERATIONS if entry[0].writes]
every_write_operation = pytest.mark.parametrize(
    ("operation", "viewset"), write_operations, ids=ids_of(write_operations)
)
body_operations = [entry for entry in write_operations if entry[0].request is not None]
every_body_operation = pytest.mark.parametrize(("operation", "viewset"), body_operations, ids=ids_of(body_operations))


@every_write_operation
def test_a_valid_write_is_answered_as_valid_and_stores_nothing(
    operation: Any, viewset: Any, api: Any, files: Path
) -> None:
    record = record_for(operation, api.key.site) if operation.takes_id else None
    body = body_for(operation, api.key.site) if operation.request is not None else None
    before = copy.deepcopy(list(model_of(operation)._default_manager.order_by("pk").values()))
    changes, paths = Change.objects.count(), {path for path in files.rglob("*") if path.is_file()}
    path = path_of(operation, viewset, record.pk if record is not None else "")
    answer = api.send(operation.method, f"{path}?validateOnly=true", body, **{"Idempotency-Key": "key"})
    assert (answer.status_code, answer.json()) == (200, {"Error": "", "Message": "Valid.", "Id": ""}), answer.content
    assert "ETag" not in answer
    assert list(model_of(operation)._default_manager.order_by("pk").values()) == before
    assert Change.objects.count() == changes
    assert not KeptAnswer.objects.exists()
    assert {path for path in files.rglob("*") if path.is_file()} == paths


@every_body_operation
def test_a_write_that_would_be_refused_is_refused_in_the_same_words(operation: Any, viewset: Any, api: Any) -> None:
    path = path_of(operation, viewset, record_for(operation, api.key.site).pk if operation.takes_id else "")
    body = {"Nonsense": 1}
    plain, check = (api.send(operation.method, path + query, body).json() for query in ("", "?validateOnly=1"))
    assert {**plain, "RequestId": ""} == {**check, "RequestId": ""}
    assert plain["Error"] == "ValidationFailed"


@every_write_operation
def test_a_switch_that_is_not_a_boolean_is_refused(operation: Any, viewset: Any, api: Any) -> None:
    path = path_of(operation, viewset, record_for(operation, api.key.site).pk if operation.takes_id else "")
    assert is_error(api.send(operation.method, f"{path}?validateOnly=maybe", {}), 400, "InvalidParameter")
