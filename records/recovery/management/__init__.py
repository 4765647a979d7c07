"""Commands that save and restore an installation."""
