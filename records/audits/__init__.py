"""Audit programs and their audit records."""
