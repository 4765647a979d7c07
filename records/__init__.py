"""The records rooms: from the trail at the bottom up to one app per endpoint and the dashboard."""
