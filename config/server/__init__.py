"""The server's worker: a connection uses no thread before its request is complete (DECISIONS 10.1)."""
