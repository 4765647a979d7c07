"""The trail: what changed, when, by whom and why."""
