"""The form of days and numbers on German pages."""
