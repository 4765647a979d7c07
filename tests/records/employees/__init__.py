"""Tests of the employee endpoint."""
