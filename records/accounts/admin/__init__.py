"""The back-office pages of accounts and roles; those of directories are in scim/admin.py, with their calls."""

from records.accounts.admin import roles, users

__all__ = ["roles", "users"]
