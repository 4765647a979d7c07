"""Controlled documents and their versions."""
