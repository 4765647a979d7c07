"""The packs room."""

from django.apps import AppConfig


class PacksConfig(AppConfig):
    """Registers auditor's packs, and their pages with the back-office."""

    name = "records.packs"
    verbose_name = "Auditor's packs"
    demo_part = "records.packs.demo"

    def ready(self) -> None:
        """Register which default roles may make packs and open those of others."""
        from records.accounts.default_roles import register
        from records.accounts.models import DefaultRole
        from records.packs.models import MAKE, OPEN_ANY

        register(MAKE, DefaultRole.MANAGER)
        register(OPEN_ANY, DefaultRole.SITE_ADMINISTRATOR)

    def add_to_backoffice(self) -> None:
        """Add the pages and the link to them."""
        from records.backoffice import extension_points
        from records.packs import pages

        extension_points.add(pages)
