"""The default for a view that names no permission: it allows nothing."""

from rest_framework.permissions import BasePermission


class DenyAll(BasePermission):
    """Refuses everybody; every view must name its own permission."""

    def has_permission(self, request: object, view: object) -> bool:
        """Return False."""
        return False
