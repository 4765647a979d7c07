"""The reminders room."""

from django.apps import AppConfig


class RemindersConfig(AppConfig):
    """Registers reminders, and their page with the back-office."""

    name = "records.reminders"

    def add_to_backoffice(self) -> None:
        """Add the page of the next reminder, the calendar link, and what people have to do to accounts' pages."""
        from records.backoffice import extension_points
        from records.reminders import calendar_pages, open_work, pages

        extension_points.add(calendar_pages, open_work, pages)
