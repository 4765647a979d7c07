"""The back-office pages of directories and of the log of their calls."""

from scim.admin import calls, directories

__all__ = ["calls", "directories"]
