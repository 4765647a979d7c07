"""What PostgreSQL refuses in the middle of a write, at every door through which records are written."""

import base64
import json
import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from records.operations import outages
from tests.faults.browser import FORM, Browser
from tests.faults.processes import ON_POSTGRESQL, Answer, Installation, Postgres, Server
from tests.make.transfer import as_csv

ADD, IMPORT = "/admin/items/item/add/", "/admin/items/item/import/"
TABLES = ("history_change", "accounts_accesstoken")
OUTAGES = {
    "40P01": outages.BUSY,  # a deadlock
    "40001": outages.BUSY,  # transactions that cannot be put into an order
    "55P03": outages.BUSY,  # a lock that was waited for too long
    "57014": outages.SLOW,  # a statement that took too long
    "53100": outages.FULL,
    "53200": outages.SLOW,  # no memory
}
ROW_TABLES = ("items_item", "accounts_user", "accounts_accesstoken", "attachments_attachment", "history_change")


@pytest.fixture
def refusing(pg: Postgres, shared: Installation) -> Iterator[Callable[[str], None]]:
    """Return a function that lets every write fail with an sqlstate, until it is called without one."""

    def refuse(sqlstate: str = "") -> None:
        for table in TABLES:
            shared.rows(f"DROP TRIGGER IF EXISTS refuse ON {table}")
            if sqlstate:
                shared.rows(
                    "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                    f"RAISE EXCEPTION 'refused by a test' USING ERRCODE = '{sqlstate}'; END $$"
                )
                shared.rows(f"CREATE TRIGGER refuse BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION refuse()")

    yield refuse
    refuse()


def doors_of(server: Server, person: Browser) -> dict[str, Callable[[], Answer]]:
    """Return a write through each door; each call writes something that was not there before."""
    first = server.add().json()["Id"]
    oauth = server.credentials["oauth"]
    client = f"client_id={oauth['client_id']}&client_secret={oauth['client_secret']}"
    nora = server.provision("nora").json()["id"]
    content = base64.b64encode(b"GIF89a").decode()
    file = {"RecordId": first, "FileName": "crate.txt", "FileType": "text/plain", "FileContent": content}
    form, question = person.form(ADD), person.form(IMPORT)

    def name() -> str:
        return f"Scale {uuid.uuid4().hex}"

    def import_file() -> Answer:
        report = person.post_file(IMPORT, question, "file", as_csv([{"Name": name()}]))
        upload = re.search(rb'name="upload" value="([^"]+)"', report.body)
        assert upload, report.body
        token = {"csrfmiddlewaretoken": question["csrfmiddlewaretoken"]}
        return person.post(IMPORT, token | {"upload": upload[1].decode(), "change_reason": "A test"})

    def status_of(method: str, path: str, body: dict[str, Any]) -> Answer:
        return server.send(method, path, json.dumps(body).encode(), server.key)

    return {
        "an add": server.add,
        "an add that is repeated": lambda: server.add({"Idempotency-Key": str(uuid.uuid4())}),
        "a change": lambda: status_of("PUT", f"/item/UpdateItem/{first}", {"Location": name()}),
        "a file": lambda: status_of("POST", "/attachment/AddAttachment", file),
        "a directory's add": lambda: server.provision(uuid.uuid4().hex[:12]),
        "a directory's change": lambda: server.provision(uuid.uuid4().hex[:12], "PATCH", nora),
        "a token": lambda: server.send(
            "POST", "/oauth/token", f"grant_type=client_credentials&{client}".encode(), {"Content-Type": FORM}
        ),
        "a form": lambda: person.post(ADD, form | {"name": name()}),
        "an import": import_file,
    }


@ON_POSTGRESQL
def test_what_the_database_refuses_is_a_clear_answer_at_every_door_and_stores_nothing(
    pg: Postgres, server: Server, shared: Installation, refusing: Callable[..., None]
) -> None:
    person = Browser(server, shared.credentials["people"]["manager"])
    doors = doors_of(server, person)

    def stored() -> list[int]:
        return [shared.rows(f"SELECT count(*) FROM {table}")[0][0] for table in ROW_TABLES]  # noqa: S608

    before, files = stored(), shared.files()
    for sqlstate, outage in OUTAGES.items():
        refusing(sqlstate)
        for door, write in doors.items():
            answer = write()
            assert answer.status == 503, (sqlstate, door, answer.body[:300])
            assert outage.message.encode() in answer.body, (sqlstate, door, answer.body[:300])
            assert answer.headers["Retry-After"], (sqlstate, door)
    refusing()
    assert stored() == before
    assert shared.files() == files
    assert {line["sqlstate"] for line in server.lines() if line.get("sqlstate")} >= set(OUTAGES)
    assert not [line for line in server.lines() if line["level"] == "ERROR"]
    for door, write in doors.items():
        answer = write()
        assert answer.status in (200, 201, 302), (door, answer.body[:300])
