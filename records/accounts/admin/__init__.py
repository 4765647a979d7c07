"""The back-office pages of accounts and roles; the pages of directories are in scim/admin."""

from records.accounts.admin import roles, security_log, users

__all__ = ["roles", "security_log", "users"]
