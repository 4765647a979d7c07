"""Plain functions that make materials for tests, and a client that carries a key and a token."""

import itertools
from typing import Any
from urllib.parse import quote

from materials import upserts
from materials.models import Material
from records.accounts.models import DefaultRole
from records.reference.models import MaterialCategory
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.make.oauth import make_token

_counter = itertools.count(1)


def make_material(site: Site, **fields: Any) -> Material:
    """Make a material at the site."""
    number = next(_counter)
    values = {"external_id": f"EXT-{number}", "name": f"Material {number}", **fields}
    desired = upserts.DesiredMaterial(values)
    return upserts.upsert(site.pk, desired, author=make.SYSTEM, may=lambda permission: True).material


def make_category(site: Site, name: str = "", **fields: Any) -> MaterialCategory:
    """Make a category of materials at the site."""
    return MaterialCategory.objects.create(site=site, name=name or f"Category {next(_counter)}", **fields)


class MaterialApi(Api):
    """A client of /materials: a key, a token of the same user, and the site that it asks about."""

    def __init__(self, key: make.Key, token: str, site: Site | None = None, **headers: str) -> None:
        super().__init__(key, Authorization=f"Bearer {token}", **headers)
        self.holder, self.token = key, token
        self.site = site or key.site

    def again(self) -> "MaterialApi":
        """Return another client with the same credentials, for another thread."""
        return MaterialApi(self.holder, self.token, self.site)

    def at(self, name: str = "", **query: Any) -> str:
        """Return the path of a material, or of the list, at the client's site."""
        parameters = [("siteId", str(self.site.pk)), *query.items()]
        pairs = "&".join(f"{key}={quote(str(value), safe='')}" for key, value in parameters)
        return f"/materials/{quote(name, safe='')}?{pairs}"

    def upsert(self, body: Any, **headers: str) -> Any:
        """Post a material, or an array of them."""
        return self.post(self.at(), body, **headers)


def make_api(site: Site, role: DefaultRole = DefaultRole.MANAGER, scope: str = "") -> MaterialApi:
    """Make a client of a user with the role at the site."""
    key = make.make_key(site, role)
    return MaterialApi(key, make_token(key.user, scope))
