"""Import and export of records as CSV and XLSX; start reading in resources.py."""
