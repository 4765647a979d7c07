"""Minimum retention periods of records, and legal holds, which prevent the erasure of personal data."""
