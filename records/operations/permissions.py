"""What a view allows that names no permission: nothing."""

from typing import Any

from rest_framework.permissions import BasePermission


class DenyAll(BasePermission):
    """Answers nobody; every view must say whom it answers."""

    def has_permission(self, request: Any, view: Any) -> bool:
        """Return False."""
        return False
