"""`manage.py db_worker`: run the background tasks and survive outages of the database."""

from typing import Any

from django_tasks_db.management.commands import db_worker

from records.operations.worker import ResilientWorker


class Command(db_worker.Command):
    """Run the background tasks (mails, packs, regular jobs) until a signal ends it."""

    def handle(self, **options: Any) -> None:
        """Run django-tasks-db's command with our worker in it."""
        setattr(db_worker, "Worker", ResilientWorker)  # noqa: B010 (a class that the type checker sees as final)
        super().handle(**options)
