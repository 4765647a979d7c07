"""Signing in: second factors, the company's provider, sessions, and confirming one's identity (DECISIONS 9.7)."""
