"""The order in which the demo's parts are filled, and whether a database may be filled at all."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from django.apps import apps
from django.db import connection, transaction

from records.accounts import actions
from records.accounts.models import User
from records.dashboard.demo.demo_site import DemoSite
from records.history.models import Change
from records.history.trail import Author, Channel
from records.sites.models import Site

PARTS = (
    "lists",
    "people",
    "customers",
    "items",
    "materials",
    "documents",
    "training",
    "complaints",
    "audits",
    "actions",
    "attachments",
)
ADMIN = "admin"
SITES = (("Hillside Bakery", "HILL", "Europe/London"), ("Harbour Dairy", "HARB", "America/New_York"))


ONE_AT_A_TIME = int.from_bytes(b"the demo")
"""The number of the advisory lock that a command which fills the demo or issues its credentials takes."""


class ForeignDatabaseError(Exception):
    """Raised when the database contains records that the demo did not make."""


@contextmanager
def alone() -> Iterator[None]:
    """Open a transaction in which no other command fills the demo; it waits until another one has ended."""
    with transaction.atomic():  # On SQLite it waits for every writer.
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ONE_AT_A_TIME])
        yield


def fill() -> None:
    """Fill an empty database with the demo, once; raises ForeignDatabaseError if it contains anything else."""
    with alone():
        if Change.objects.filter(operation="FillDemo").exists():
            return
        if Site.objects.exists() or User.objects.exists():
            raise ForeignDatabaseError
        admin = actions.add_user(
            User(user_name=ADMIN, given_name="Demo", family_name="Administrator", is_superuser=True),
            author=Author(None, "Demo", Channel.SYSTEM),
            operation="FillDemo",
        )
        author = Author(admin.pk, admin.printed_name, Channel.BACKOFFICE)
        for number, (name, code, zone) in enumerate(SITES):
            site = actions.add_site(Site(name=name, code=code, time_zone=zone), author=author)
            place = DemoSite(site, number == 0, admin, random.Random(20240501 + number))  # noqa: S311 (a made-up story)
            for part in PARTS:
                import_module(f"records.dashboard.demo.{part}").fill(place)
            for part in _parts_of_rooms_above():
                import_module(part).fill(place)
    _analyze()


def _parts_of_rooms_above() -> list[str]:
    """Return the modules that rooms above this one name in their AppConfig (`demo_part`), since it imports none."""
    return [config.demo_part for config in apps.get_app_configs() if hasattr(config, "demo_part")]


def _analyze() -> None:
    """Renew the statistics of PostgreSQL's planner at once after so many new rows, instead of a minute later."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
