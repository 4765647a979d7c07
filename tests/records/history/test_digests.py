"""The digest of a change: what it covers, that PostgreSQL builds the same, and that a value can be erased."""

import hashlib
from typing import Any

import pytest
from django.db import connection, models

from documents import actions as document_actions
from records.accounts.models import DefaultRole
from records.complaints import workflow
from records.complaints.models import Complaint
from records.employees import actions
from records.history import digests, visibility
from records.history.models import Change
from records.sites.models import Site
from tests import make
from tests.make.complaints import make_draft, required_of
from tests.make.documents import add_version, make_document, make_signer, sign, version_of

VALUES: dict[str, Any] = {
    "site_id": None,
    "number": 77,
    "author_name": "Somebody else",
    "channel": "Import",
    "credential": "another key",
    "operation": "DeleteEmployee",
    "reason": "another reason",
    "model": "items.Item",
    "record_name": "Another name",
    "request_id": "another request",
    "lowest_role": "manager",
    "previous_hash": "0" * 64,
}


def newest(record: models.Model) -> Change:
    return Change.objects.filter(record_id=record.pk).latest("number")


def set_values(change: Change, **values: Any) -> None:
    """Change a row as somebody with SQL would."""
    models.QuerySet(Change).filter(pk=change.pk).update(**values)


@pytest.mark.parametrize("name", sorted(VALUES))
def test_the_digest_covers_every_fact(site: Site, name: str) -> None:
    change = newest(make.make_employee(site))
    assert digests.digest(change) == change.hash
    assert getattr(change, name) != VALUES[name]
    setattr(change, name, VALUES[name])
    assert digests.digest(change) != change.hash


def test_the_digest_covers_every_value_and_the_name_of_every_field(site: Site) -> None:
    change = newest(make.make_employee(site, notes="Ünïcode\nnotes", phone="1"))
    for entry in change.fields:
        for key in ("field", "old", "new"):
            value = entry[key]
            entry[key] = "something else"
            assert digests.digest(change) != change.hash, (entry, key)
            entry[key] = value
    assert digests.digest(change) == change.hash


def test_equal_values_have_salts_of_their_own(site: Site) -> None:
    change = newest(make.make_employee(site, phone="1", mobile="1"))
    salts = [salt for salt in change.salts if salt]
    assert len(salts) > 5
    assert len(set(salts)) == len(salts)
    assert {len(salt) for salt in salts} == {digests.SALT_LENGTH}


def test_the_digest_stays_when_a_value_and_its_salt_are_gone(site: Site) -> None:
    change = newest(make.make_employee(site, phone="555-0100"))
    values = digests.values_of(change)
    at = values.index("555-0100")
    change.salts[at] = "=" + digests.value_digest(change.salts[at], values[at])
    for entry in change.fields:
        if entry["new"] == "555-0100":
            entry["new"] = {digests.ERASED: "0123456789abcdef"}
    assert digests.digest(change) == change.hash
    assert "555-0100" not in str([change.fields, change.salts])


def test_an_older_change_verifies_by_the_first_version(site: Site) -> None:
    change = newest(make.make_employee(site, notes="Ünïcode"))
    change.digest_version, change.salts = 1, []
    first = digests.digest(change)
    assert first != change.hash
    change.author_name = "Somebody else"
    assert digests.digest(change) != first


def test_postgresql_builds_the_same_digest_from_the_same_lines(site: Site) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no sha256() of its own.")
    employee = make.make_employee(site, notes="Ünïcode\nnotes")
    change = newest(employee)
    values = digests.values_of(change)
    at = values.index(employee.site_sequence_id)
    lines = [digests.value_digest(salt, value) for salt, value in zip(change.salts, values, strict=True)]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT encode(sha256(convert_to(concat_ws(E'\\n', '2', previous_hash, number::text, %s::text, %s::text, "
            "encode(sha256(convert_to(%s || E'\\n' || %s::bigint, 'UTF8')), 'hex'), %s::text), 'UTF8')), 'hex') "
            "FROM history_change WHERE id = %s",
            [
                digests.facts(change).decode(),
                "\n".join(lines[:at]),
                change.salts[at],
                employee.site_sequence_id,
                "\n".join(lines[at + 1 :]),
                change.pk,
            ],
        )
        assert cursor.fetchone()[0] == change.hash


def test_a_value_digest_is_the_hash_of_salt_and_json() -> None:
    expected = hashlib.sha256('salt\n{"a":"ü","b":1}'.encode()).hexdigest()
    assert digests.value_digest("salt", {"b": 1, "a": "ü"}) == expected


def test_a_change_carries_the_lowest_role_that_may_see_it(site: Site) -> None:
    assert list(visibility.ROLES) == DefaultRole.values
    employee = make.make_employee(site)
    assert newest(employee).lowest_role == "reader"
    actions.update_employee(site.pk, employee.pk, {"phone": "2"}, author=make.SYSTEM)
    assert newest(employee).lowest_role == "manager"
    actions.update_employee(site.pk, employee.pk, {"phone": "3", "code": "E1"}, author=make.SYSTEM)
    assert newest(employee).lowest_role == "reader"
    assert Change.objects.filter(model="accounts.Role").exclude(lowest_role="").count() == 0


def test_a_draft_complaint_is_seen_by_no_role_until_it_is_submitted(site: Site) -> None:
    draft = make_draft(site, **required_of(site))
    assert newest(draft).lowest_role == ""
    workflow.submit(site.pk, draft.pk, author=make.SYSTEM)
    assert newest(draft).lowest_role == "reader"
    assert set(Complaint.HISTORY_PRIVATE.values()) == {"standard"}


def test_a_version_of_a_document_is_seen_below_manager_only_when_it_is_in_force(site: Site) -> None:
    reviewer = make_signer(site)
    document = make_document(site, user_to_review=[reviewer])
    assert newest(document).lowest_role == "manager"
    sign(version_of(document), reviewer)
    assert newest(document).lowest_role == "reader"
    add_version(document)
    assert newest(document).lowest_role == "manager"
    document_actions.change_details(site.pk, document.pk, {"name": "Hygiene rules"}, author=make.SYSTEM)
    assert newest(document).lowest_role == "reader"
