"""Commands that look after the stored files."""
