"""Cost measurements: `make bench` prints the table of docs/performance.md; `backoffice` and `walks` are run by hand."""
