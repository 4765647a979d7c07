"""The command that makes the first site, superuser and credentials of an installation."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from records.accounts.models import OAuthClient, User
from records.history.models import Change
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.make.oauth import fetch_token


def bootstrap(*options: str) -> str:
    """Run the command and return what it printed."""
    out = StringIO()
    call_command("bootstrap", "--site", "Northgate Mill", "--email", "owner@example.com", *options, stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_bootstrap_makes_what_opens_every_door() -> None:
    report = json.loads(bootstrap("--json", "--time-zone", "Europe/Paris"))
    site = Site.objects.get()
    assert report["site"] == {"id": str(site.pk), "name": "Northgate Mill"}
    assert site.time_zone == "Europe/Paris"
    admin = User.objects.get(user_name=report["admin"]["username"])
    assert admin.is_superuser
    assert admin.check_password(report["admin"]["password"])
    key = {"Ocp-Apim-Subscription-Key": report["subscription_key"]}
    answer = Client().post("/item/AddItem", json.dumps({"Name": "Scale"}), content_type="application/json", headers=key)
    assert answer.status_code == 200
    client = OAuthClient.objects.get(pk=report["oauth"]["client_id"])
    token = fetch_token(client, report["oauth"]["client_secret"])
    materials = Api(None, **key, Authorization=f"Bearer {token}").get("/materials/", {"siteId": str(site.pk)})
    assert materials.status_code == 200
    for name in ("scim_token", "scim_rfc_token", "scim_entra_token"):
        users = Client().get("/scim/Users", headers={"Authorization": f"Bearer {report[name]}"})
        assert users.status_code == 200
    assert Change.objects.filter(operation="Bootstrap").exists()


@pytest.mark.django_db
def test_bootstrap_refuses_a_database_that_has_users() -> None:
    make.make_user(site=make.make_site("Hillside Bakery"))
    before = (Site.objects.count(), User.objects.count(), Change.objects.count())
    with pytest.raises(CommandError, match="has users already"):
        bootstrap()
    assert (Site.objects.count(), User.objects.count(), Change.objects.count()) == before


@pytest.mark.django_db
@pytest.mark.parametrize("options", [("--time-zone", "Mars/Base"), ("--email", "nobody")])
def test_bootstrap_refuses_what_is_malformed_and_stores_nothing(options: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        bootstrap(*options)
    assert not User.objects.exists()


@pytest.mark.django_db
def test_bootstrap_prints_for_people_too() -> None:
    assert "shown only once" in bootstrap()
