"""The actions room."""

from django.apps import AppConfig


class ActionsConfig(AppConfig):
    """Registers records.actions."""

    name = "records.actions"

    def add_to_backoffice(self) -> None:
        """Show the actions about a record on its page, and on an action's page why it came back."""
        from records.actions import panels
        from records.backoffice import extension_points

        extension_points.record_notices.append(panels.notices)
        extension_points.record_panels.append(panels.panels)
