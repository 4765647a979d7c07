"""Minimum retention periods of records, and legal holds, which prevent that personal data is erased."""
