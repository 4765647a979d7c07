"""Employees and job descriptions."""
