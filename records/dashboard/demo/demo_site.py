"""One site of the demo, and the records that its parts have added so far."""

import datetime
import random
import tomllib
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.conf import settings

from records.accounts.models import User
from records.employees.models import Employee
from records.history.trail import Author, Channel, now
from records.sites.models import Entity, EntityFolder, Site


@cache
def content(part: str) -> dict[str, Any]:
    """Return the names and texts of a part of the demo, which are in `deploy/demo/<part>.toml`."""
    return tomllib.loads((settings.BASE_DIR / "deploy" / "demo" / f"{part}.toml").read_text("utf-8"))


@dataclass
class DemoSite:
    """A site that is being filled: its people, lists and records by name, and a random generator with a fixed seed."""

    site: Site
    main: bool
    admin: User
    chance: random.Random
    today: datetime.datetime = field(default_factory=now)
    users: dict[str, User] = field(default_factory=dict)
    """The people who can sign in: `manager`, `standard`, `reader`, `administrator`, and more under their user names."""
    employees: list[Employee] = field(default_factory=list)
    lists: dict[str, list[Any]] = field(default_factory=dict)
    """The site's list entries by list name, such as `Product`."""
    folders: dict[str, dict[str, EntityFolder]] = field(default_factory=dict)
    records: dict[str, list[Any]] = field(default_factory=dict)
    """Records that a part made for others to point at, such as `Customer`."""

    @property
    def key(self) -> str:
        """Return the name under which the demo's files keep what differs between the sites: `main` or `other`."""
        return "main" if self.main else "other"

    def author(self, user: User | None = None) -> Author:
        """Return the author to whom the demo's changes are attributed: a person at the back-office."""
        who = user or self.users.get("manager") or self.admin
        return Author(who.pk, who.printed_name, Channel.BACKOFFICE)

    def shared_entries(self, model: Any) -> dict[str, object]:
        """Return the entries of a shared list by name."""
        key = f"system {model.__name__}"
        if key not in self.records:
            self.records[key] = list(model.objects.all())
        return {entry.name: entry for entry in self.records[key]}

    def folder(self, entity: Entity, name: str) -> EntityFolder | None:
        """Return a folder of the site by its entity and name."""
        return self.folders.get(entity, {}).get(name)

    def days_ago(self, days: float) -> datetime.datetime:
        """Return a moment that many days before today, at a working hour."""
        moment = self.today - datetime.timedelta(days=days)
        return moment.replace(
            hour=self.chance.randrange(7, 17), minute=self.chance.randrange(60), second=0, microsecond=0
        )
