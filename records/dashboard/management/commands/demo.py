"""`manage.py demo [--json]`: fill two sites once and print fresh credentials (DECISIONS 8.3)."""

import json
import logging
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError

from records.dashboard.demo import credentials, filling
from records.operations.outages import BUSY, outage_of


class Command(BaseCommand):
    """Fills an empty database with the demo, and issues new demo credentials each time."""

    help = "Fill two demo sites once and print fresh credentials, ending the earlier ones."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take --json."""
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        """Fill, issue and print; never in production, which has no demo (DECISIONS 9.10)."""
        if settings.PRODUCTION:
            raise CommandError("The demo does not run in production. Use bootstrap there; nothing was changed.")
        # What is made here is printed below and is in the history; the security log's lines would hide it.
        logging.disable(logging.INFO)
        try:
            self._fill_and_print(as_json=options["json"])
        except OperationalError as error:
            if outage_of(error) is not BUSY:
                raise
            text = "Another command is writing to this database, perhaps another demo command."
            raise CommandError(f"{text} Run this again when it has ended; nothing was changed.") from error
        finally:
            logging.disable(logging.NOTSET)

    def _fill_and_print(self, *, as_json: bool) -> None:
        try:
            filling.fill()
        except filling.ForeignDatabaseError as error:
            raise CommandError("This database has records that are not the demo's; nothing was changed.") from error
        try:
            output = credentials.issue()
        except credentials.DemoGoneError as error:
            text = f"The demo's account “{error}” is gone or not active. Start again with an empty database."
            raise CommandError(f"{text} Nothing was changed.") from error
        if as_json:
            self.stdout.write(json.dumps(output))
            return
        base = output["base_url"]
        self.stdout.write(
            f"""
Larder's demo: {output["site"]["name"]} and one more site.

  Back-office   {base}/admin/   {output["admin"]["username"]} / {output["admin"]["password"]}
                also manager, reviewer, approver, standard, reader / {output["people"]["manager"]["password"]}
  API and docs  {base}/docs/
  Directories   {base}/scim   Authorization: Bearer {output["scim_token"]}

Try it:

  curl -s -H 'Ocp-Apim-Subscription-Key: {output["subscription_key"]}' '{base}/employee/GetEmployeeList?limit=2'
"""
        )
