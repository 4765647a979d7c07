"""Complaints, their fields and their way from draft to completed."""
