"""The server's worker: no connection costs a thread before its request is whole (DECISIONS 10.1)."""
