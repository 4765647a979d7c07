"""The actions room."""

from django.apps import AppConfig


class ActionsConfig(AppConfig):
    """Registers records.actions."""

    name = "records.actions"

    def add_to_backoffice(self) -> None:
        """Show the actions about a record, why an action came back, and which actions somebody has to do."""
        from records.actions import panels, to_do
        from records.backoffice import extension_points

        extension_points.add(panels, to_do)
