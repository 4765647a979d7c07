"""The reminders room."""

from django.apps import AppConfig


class RemindersConfig(AppConfig):
    """Registers reminders, and their page with the back-office."""

    name = "records.reminders"

    def add_to_backoffice(self) -> None:
        """Add the page that shows the next reminder and asks how often the person wants it, and the calendar link."""
        from records.backoffice import extension_points
        from records.reminders import calendar_pages, pages

        extension_points.add(calendar_pages, pages)
