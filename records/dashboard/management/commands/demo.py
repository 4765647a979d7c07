"""`manage.py demo [--json]`: fill two sites once and print fresh credentials (DECISIONS 8.3)."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from records.dashboard.demo import credentials, story


class Command(BaseCommand):
    """Fills an empty database with the demo, and issues new demo credentials each time."""

    help = "Fill two demo sites once and print fresh credentials, ending the earlier ones."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take --json."""
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        """Fill, issue and print."""
        try:
            story.fill()
        except story.ForeignDatabaseError as error:
            raise CommandError("This database holds records that are not the demo's; nothing was changed.") from error
        credentials.set_passwords()
        issued = credentials.issue()
        if options["json"]:
            self.stdout.write(json.dumps(issued))
            return
        base = issued["base_url"]
        self.stdout.write(
            f"""
Larder's demo: {issued["site"]["name"]} and one more site.

  Back-office   {base}/admin/   {issued["admin"]["username"]} / {issued["admin"]["password"]}
                also manager, reviewer, approver, standard, reader / {credentials.PEOPLE_PASSWORD}
  API and docs  {base}/docs/
  Directories   {base}/scim   Authorization: Bearer {issued["scim_token"]}

Try it:

  curl -s -H 'Ocp-Apim-Subscription-Key: {issued["subscription_key"]}' '{base}/employee/GetEmployeeList?limit=2'
"""
        )
