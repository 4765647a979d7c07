"""Django's SQLite backend with files that only their owner can read."""
