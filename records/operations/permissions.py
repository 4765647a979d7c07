"""The default for a view that names no permission: it allows nothing."""

from typing import Any

from rest_framework.permissions import BasePermission


class DenyAll(BasePermission):
    """Refuses everybody; every view must name its own permission."""

    def has_permission(self, request: Any, view: Any) -> bool:
        """Return False."""
        return False
