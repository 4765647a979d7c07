"""`manage.py bootstrap --site NAME --email ADDRESS [--json]` makes the first credentials (DECISIONS 13.16)."""

import json
import logging
import secrets
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email
from django.db import transaction

from records.accounts import actions, clients, directories, keys
from records.accounts.models import DefaultRole, Dialect, Role, User
from records.history.trail import Author, Channel
from records.sites.models import Site

SUPERUSER = "admin"
INTEGRATION = "integration"


class Command(BaseCommand):
    """Makes what a new installation needs before anybody can sign in or call; only on a database without users."""

    help = "Make the first site, a superuser, a Manager's key, an OAuth client and a directory, and print them once."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the site's name, the superuser's address, and how to print."""
        parser.add_argument("--site", required=True, help="the name of the first site")
        parser.add_argument("--email", required=True, help="the superuser's recovery address")
        parser.add_argument("--time-zone", default="UTC", help="the site's time zone, such as Europe/London")
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make everything in one transaction and print the secrets, which are shown only here."""
        if User.objects.exists():
            raise CommandError("This database has users already; nothing was changed.")
        # The secrets are printed below; the security log's lines would hide them.
        logging.disable(logging.INFO)
        try:
            validate_email(options["email"])
            output = make(options["site"], options["email"], options["time_zone"])
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        finally:
            logging.disable(logging.NOTSET)
        if options["json"]:
            self.stdout.write(json.dumps(output))
            return
        admin = output["admin"]
        self.stdout.write(
            f"""
Larder at {output["base_url"]} has its first site, {output["site"]["name"]}. These secrets are shown only once:

  Back-office       {output["base_url"]}/admin/   {admin["username"]} / {admin["password"]}
  Subscription key  {output["subscription_key"]}
  OAuth client      {output["oauth"]["client_id"]} / {output["oauth"]["client_secret"]}
  Directory         {output["base_url"]}/scim   Authorization: Bearer {output["scim_token"]}
"""
        )


@transaction.atomic
def make(site_name: str, email: str, time_zone: str) -> dict[str, Any]:
    """Make site, superuser, integration and directory, and return their secrets under the names of the demo's output.

    Raises ValidationError, for example on an unknown time zone, and then stores nothing.
    """
    system = Author(None, "Bootstrap", Channel.SYSTEM)
    password = secrets.token_urlsafe(15)
    admin = actions.add_user(
        User(user_name=SUPERUSER, given_name="First", family_name="Administrator", email=email, is_superuser=True),
        password=password,
        author=system,
        operation="Bootstrap",
    )
    author = Author(admin.pk, admin.printed_name, Channel.SYSTEM)
    site = actions.add_site(Site(name=site_name, time_zone=time_zone), author=author)
    integration = actions.add_user(
        User(user_name=INTEGRATION, display_name="Integration", is_service_account=True, home_site=site), author=author
    )
    manager = Role.objects.at(site).get(default_role=DefaultRole.MANAGER)
    actions.set_members(manager, add=[integration], author=author)
    client, client_secret = clients.issue_client(integration, "First client", author=author)
    directory = directories.add_directory(f"Directory of {site.name}", site, author=author)
    base = settings.BASE_URL
    return {
        "base_url": base,
        "admin": {"username": SUPERUSER, "password": password},
        "site": {"id": str(site.pk), "name": site.name},
        "subscription_key": keys.issue_key(integration, site, "First key", author=author)[1],
        "oauth": {
            "token_url": f"{base}/oauth/token",
            "client_id": client.client_id,
            "client_secret": client_secret,
        },
        "scim_token": directories.issue_token(directory, "First token", author=author)[1],
        "scim_rfc_token": directories.issue_token(
            directory, "First token, RFC 7643", author=author, dialect=Dialect.RFC
        )[1],
        "scim_entra_token": directories.issue_token(
            directory, "First token, Microsoft Entra ID", author=author, dialect=Dialect.ENTRA
        )[1],
    }
