"""Fixtures: keys and seals in a folder of the test, and employees whose history is whole."""

from pathlib import Path
from typing import Any

import pytest

from records.accounts.models import SecurityKind, User
from records.accounts.security import security_event
from records.employees import actions
from records.employees.models import Employee
from records.sites.models import Site
from tests import make
from tests.make.chains import texts


@pytest.fixture
def own_seals(settings: Any, tmp_path: Path) -> None:
    """Keep the test's key and seals apart."""
    settings.SEAL_KEY_FILE = str(tmp_path / "seal_key.pem")
    settings.SEALS_DIR = str(tmp_path / "seals")


@pytest.fixture
def employees(site: Site) -> list[Employee]:
    """Return five employees, whose changes are the last five of the site's chain, and one change of the first."""
    people = [make.make_employee(site, first_name=f"Ada{n}", phone=str(n)) for n in range(5)]
    actions.update_employee(site.pk, people[0].pk, {"phone": "77"}, author=make.SYSTEM, reason="Moved")
    assert not texts()
    return people


@pytest.fixture
def signed_in(site: Site) -> Employee:
    """Return an employee who has an account, whose Id is the same, and whose newest change is a sign-in."""
    employee = make.make_employee(site, address="1 Mill Lane")
    actions.give_account(site.pk, employee.pk, "ada", author=make.SYSTEM, reason="Starts")
    security_event(SecurityKind.SIGNED_IN, account=User.objects.get(pk=employee.pk), address="203.0.113.7")
    return employee
