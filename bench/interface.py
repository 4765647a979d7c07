"""Single reads and writes through the served product, against the bare floor and the peer."""

import json
from contextlib import ExitStack
from typing import Any

from django.conf import settings

from bench.harness import Body, Table, compare, has_peer, rate, serving, serving_asgi
from bench.rows import adding, migrate, numbered, reading
from records.complaints.models import Complaint
from records.customers.models import Customer
from records.employees.models import Employee
from records.items.models import Item
from records.sites.models import SiteSequence
from tests import make
from tests.make.chains import broken_links
from tests.make.complaints import complaint_body, make_complaint
from tests.make.customers import make_customer
from tests.make.documents import add_version, make_document
from tests.make.items import make_item
from tests.make.materials import make_api, make_material

WRITERS = (1, 8)


def measure(table: Table) -> None:
    """Measure single reads, adds and updates."""
    migrate()
    site = make.make_site("Measured")
    api = make_api(site)
    document = make_document(site, b"1")
    for number in range(4):
        add_version(document, bytes([number]))
    material = make_material(site)
    read: dict[str, tuple[str, Any]] = {
        "GetComplaint": ("/complaint/GetComplaint/", make_complaint(site)),
        "GetEmployee": ("/employee/GetEmployee/", make.make_employee(site)),
        "GetItem": ("/item/GetItem/", make_item(site)),
        "GetCustomer": ("/customer/GetCustomer/", make_customer(site)),
        "GetDocument, 5 versions": ("/document/GetDocument/", document),
        "GetMaterialById": (api.at(str(material.pk)), material),
    }
    complaint, employee = read["GetComplaint"][1], read["GetEmployee"][1]
    body = complaint_body(site)
    shape = api.get(f"/employee/GetEmployee/{employee.pk}").json()
    update = (
        f"UPDATE employees_employee SET position = %(Position)s, revision = revision + 1 WHERE id = '{employee.pk}'"  # noqa: S608
    )
    statements = {row._meta.model_name: reading(type(row)) for _, row in read.values()}
    statements |= {"add-complaint": adding(complaint), "add-employee": adding(employee), "update": update}
    peers = {row._meta.model_name: row._meta.db_table for _, row in read.values()}
    headers = api.headers
    with ExitStack() as servers:
        product = servers.enter_context(serving("config.wsgi"))
        floor = servers.enter_context(serving("bench.floor:application", FLOOR_STATEMENTS=json.dumps(statements)))
        peer = ""
        if has_peer("sqlalchemy"):
            environment = {"PEER_TABLES": json.dumps(peers), "PEER_PEPPER": settings.CREDENTIAL_PEPPERS[0]}
            peer = servers.enter_context(serving_asgi("bench.peer:app", **environment))
        for name, (path, row) in read.items():
            url = product + (path if "?" in path else f"{path}{row.pk}")
            bare = f"{floor}/{row._meta.model_name}/{row.pk}"
            rounds = compare(rate(url, headers), rate(bare))
            table.rates(name, rounds, "floor", "≥ 0.6" if name == "GetComplaint" else "≥ 0.5")
            if peer:
                other = f"{peer}/{row._meta.model_name}/{row.pk}"
                rounds = compare(rate(url, headers), rate(other, headers))
                table.rates(name, rounds, "FastAPI + SQLAlchemy", "≥ 1.2")

        def write(name: str, path: str, name_of_floor: str, content: Body, count: int, aim: str) -> None:
            method = "PUT" if name.startswith("Update") else "POST"
            rounds = compare(
                rate(product + path, headers, connections=count, method=method, body=content),
                rate(f"{floor}/{name_of_floor}", connections=count, method=method, body=content),
            )
            table.rates(f"{name}, {count} at once", rounds, "one statement", aim)

        for count in WRITERS:
            text = json.dumps(body).encode()
            write("AddComplaintDetail", "/complaint/AddComplaintDetail", "add-complaint", text, count, "≥ 0.4")
            text = json.dumps(make.employee_body()).encode()
            write("AddEmployee", "/employee/AddEmployee", "add-employee", text, count, "≥ 0.4")
        new_body = numbered(json.dumps({**shape, "Position": "Baker @"}))
        write("UpdateEmployee", f"/employee/UpdateEmployee/{employee.pk}", "update", new_body, 1, "≥ 0.3")
    _check(site.pk)


def _check(site_id: Any) -> None:
    """Fail where the writes lost or doubled a number, or broke the chain of changes."""
    for model in (Complaint, Employee, Item, Customer):
        numbers = model._default_manager.filter(site_id=site_id, site_sequence_id__isnull=False)
        last = SiteSequence.objects.get(site_id=site_id, entity=model.ENTITY).last
        assert numbers.count() == last, f"A number of {model.__name__} was lost or doubled."
    assert not list(broken_links(site_id)), "The chain of changes has a broken link."
