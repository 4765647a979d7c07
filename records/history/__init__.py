"""The history: what changed, when, by whom and why."""
