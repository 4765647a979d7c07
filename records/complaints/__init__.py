"""Complaints, and their steps from draft to completed."""
