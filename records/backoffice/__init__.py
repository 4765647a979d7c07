"""The base classes of all back-office pages."""
