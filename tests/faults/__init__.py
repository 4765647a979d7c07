"""What is broken on purpose: real servers, databases, caches and mail servers that are stopped, frozen and killed.

`make faults` runs these tests on SQLite and PostgreSQL; the ordinary suite does not collect them. What is promised and
the figures that were measured are in docs/reliability.md.
"""
