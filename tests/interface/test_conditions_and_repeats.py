"""What headers ask of a write: to be done once only, or only to the record as it was read. None is ignored."""

from typing import Any

import pytest

from records.history.models import Change
from tests.interface.subjects import ENDPOINT_ROWS, body_for, named, path_of, stored
from tests.interface.test_doors import refused

write_rows = [entry for entry in ENDPOINT_ROWS if entry[0].writes]
id_rows = [entry for entry in write_rows if entry[0].takes_id]
every_id_row = pytest.mark.parametrize(("row", "viewset"), id_rows, ids=named(id_rows))
add_rows = [entry for entry in write_rows if entry[0].adds]
every_add_row = pytest.mark.parametrize(("row", "viewset"), add_rows, ids=named(add_rows))


def body_of(row: Any, site: Any) -> Any:
    """Return a body that the row accepts, or None where it takes none."""
    return body_for(row, site) if row.request is not None else None


@every_id_row
def test_a_repeat_of_an_update_under_one_idempotency_key_writes_once(row: Any, viewset: Any, api: Any) -> None:
    site = api.key.site
    record, other = stored(row, site), stored(row, site)
    path, body = path_of(row, viewset, record.pk), body_of(row, site)
    once = {"Idempotency-Key": "k-1", "If-Match": f'"{record.revision}"'}
    first = api.send(row.method, path, body, **once)
    assert first.status_code == 200, first.content
    before = Change.objects.count()
    again = api.send(row.method, path, body, **once)
    assert (again.status_code, again.content, again["ETag"]) == (200, first.content, first["ETag"])
    assert again["Idempotency-Replayed"] == "true"
    elsewhere = api.send(row.method, path_of(row, viewset, other.pk), body, **{"Idempotency-Key": "k-1"})
    assert refused(elsewhere, 409, "IdempotencyMismatch")
    assert Change.objects.count() == before


@every_id_row
def test_an_update_heeds_if_none_match(row: Any, viewset: Any, api: Any) -> None:
    record = stored(row, api.key.site)
    path, body = path_of(row, viewset, record.pk), body_of(row, api.key.site)
    before = Change.objects.count()
    for header in ("*", f'"{record.revision}"', f'"99", W/"{record.revision}"', f'"{record.revision}-r"'):
        answer = api.send(row.method, path, body, **{"If-None-Match": header})
        assert refused(answer, 412, "PreconditionFailed"), header
    assert Change.objects.count() == before
    assert api.send(row.method, path, body, **{"If-None-Match": '"99"'}).status_code == 200


def test_a_tag_that_no_record_ever_had_is_412_whatever_number_it_holds(api: Any) -> None:
    row, viewset = next(entry for entry in id_rows if entry[0].name == "UpdateItem")
    path = path_of(row, viewset, stored(row, api.key.site).pk)
    for tag in ("1" * 5_000, "99999999999999999999", "01", "1-R", "²", "-1", ""):
        answer = api.put(path, {"Notes": "x"}, **{"If-Match": f'"{tag}"'})
        assert refused(answer, 412, "PreconditionFailed"), tag
        assert api.put(path, {"Notes": ""}, **{"If-None-Match": f'"{tag}"'}).status_code == 200, tag


@every_add_row
def test_an_add_with_if_match_is_refused(row: Any, viewset: Any, api: Any) -> None:
    path, body = path_of(row, viewset), body_of(row, api.key.site)
    before = Change.objects.count()
    for header in ("*", '"1"', ""):
        assert refused(api.send(row.method, path, body, **{"If-Match": header}), 412, "PreconditionFailed"), header
    assert Change.objects.count() == before
    assert api.send(row.method, path, body, **{"If-None-Match": "*"}).status_code == 200
