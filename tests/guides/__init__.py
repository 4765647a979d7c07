"""The guides of docs/guides, executed."""
