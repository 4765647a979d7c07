"""Cost measurements, run by hand on PostgreSQL: `make bench`; each prints medians and ratios as measured."""
