"""Customers and their contacts."""
