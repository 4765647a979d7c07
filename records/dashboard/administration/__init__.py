"""The back-office pages of the rooms below the operations: sites, lists, accounts and the history."""

from records.dashboard.administration import accounts, directories, entries, history, roles, sites

__all__ = ["accounts", "directories", "entries", "history", "roles", "sites"]
