"""Commands that prove the history."""
