"""How long the server waits for PostgreSQL; management commands have no limits."""

limits: dict[str, int] = {}
"""The values of PostgreSQL's settings by their names: milliseconds, or 0 to switch off what a setting allows."""


def set_limits(values: dict[str, int]) -> None:
    """Set the limits of the connections that this process opens from now on."""
    limits.update(values)
