"""The back-office pages of accounts and roles; those of directories are in scim/admin.py, with their calls."""

from records.accounts.admin import roles, security_log, users

__all__ = ["roles", "security_log", "users"]
