"""Tests that drive the back-office in a real browser."""
