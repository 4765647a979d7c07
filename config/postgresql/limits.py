"""How long the server waits for PostgreSQL; management commands have no limits."""

limits: dict[str, int] = {}
"""Milliseconds by the names of PostgreSQL's settings."""


def bound(found: dict[str, int]) -> None:
    """Set the limits of the connections that this process opens from now on."""
    limits.update(found)
