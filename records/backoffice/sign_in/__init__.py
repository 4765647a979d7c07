"""Signing in: second factors, the company's provider, sessions, and confirming who one is (DECISIONS 9.7)."""
