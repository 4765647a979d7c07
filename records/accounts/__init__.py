"""Accounts and access: users, roles, directories and credentials."""
