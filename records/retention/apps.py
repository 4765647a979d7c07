"""The retention room."""

from django.apps import AppConfig


class RetentionConfig(AppConfig):
    """Registers retention periods and legal holds, and their pages with the back-office."""

    name = "records.retention"

    def ready(self) -> None:
        """Register which default roles may set and lift periods and holds."""
        from records.accounts.default_roles import register
        from records.accounts.models import DefaultRole
        from records.retention.models import LIFT_HOLD, SET_HOLD

        register("retention.view_retentionperiod", DefaultRole.MANAGER)
        register("retention.add_retentionperiod", DefaultRole.SITE_ADMINISTRATOR)
        register("retention.change_retentionperiod", DefaultRole.SITE_ADMINISTRATOR)
        register(SET_HOLD, DefaultRole.MANAGER)
        register(LIFT_HOLD, DefaultRole.SITE_ADMINISTRATOR)

    def add_to_backoffice(self) -> None:
        """Show periods and holds on records' pages."""
        from records.backoffice import extension_points
        from records.retention import pages

        extension_points.add(pages)
