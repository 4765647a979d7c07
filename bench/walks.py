"""How far a reader has to follow the code of five requests: `python -m pytest -q -s bench/walks.py`.

For each request: the files of the product that it runs through, the functions, the calls, and the returns, which are
calls into a file that the walk had left before. Only what the request itself does counts, once everything is loaded.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from django.test import Client

from records.accounts.models import DefaultRole, RoleMembership
from records.complaints.models import Complaint
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.make.backoffice import address, browser, form_of, list_address
from tests.make.complaints import make_complaint
from tests.scim.conftest import Scim

pytest_plugins = ["tests.conftest", "tests.scim.conftest"]

ROOT = Path(__file__).resolve().parent.parent
ROOMS = tuple(f"{ROOT / room}/" for room in ("config", "records", "documents", "materials", "scim"))


def walk(name: str, request: Callable[[], Any]) -> None:
    """Run the request and print its counts."""
    files: set[str] = set()
    functions: set[Any] = set()
    calls = returns = 0
    last = ""

    def follow(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls, returns, last
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(ROOMS):
            return
        calls += 1
        functions.add(code)
        if code.co_filename != last:
            returns += code.co_filename in files
            files.add(code.co_filename)
            last = code.co_filename

    sys.setprofile(follow)
    try:
        request()
    finally:
        sys.setprofile(None)
    print(f"{name:32} files {len(files):3}  functions {len(functions):4}  calls {calls:5}  returns {returns:4}")


def test_walks(site: Site, scim: Scim) -> None:
    """Print the five walks."""
    print()
    api = Api(make.make_key(site))
    body = make.employee_body()
    for _ in range(2):
        assert api.post("/employee/AddEmployee", body).status_code == 200
    walk("AddEmployee", lambda: api.post("/employee/AddEmployee", body))
    employee = make.make_employee(site)
    walk("GetEmployee", lambda: api.get(f"/employee/GetEmployee/{employee.pk}"))
    client: Client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    complaint = make_complaint(site)
    for count in range(2):
        data = {
            **form_of(client.get(address(complaint))),
            "complaint_description": f"Stone {count}",
            "change_reason": "Told",
        }
        if count:
            walk("admin: save of a complaint", lambda data=data: client.post(address(complaint), data))  # type: ignore[misc]
        else:
            client.post(address(complaint), data)
    assert Complaint.objects.get(pk=complaint.pk).complaint_description == "Stone 1"
    group, user = scim.add_group("Bakers"), scim.add_user("noor")
    other = scim.add_user("ann")
    add = {"op": "add", "path": "members", "value": [{"value": other["id"]}]}
    scim.patch(f"/Groups/{group['id']}", add)
    add["value"] = [{"value": user["id"]}]
    walk("SCIM: PATCH of a member", lambda: scim.patch(f"/Groups/{group['id']}", add))
    assert RoleMembership.objects.filter(role=group["id"]).count() == 2
    client.get(list_address(Complaint))
    walk("admin: list of complaints", lambda: client.get(list_address(Complaint)))
