"""Django's PostgreSQL backend with a time limit for every wait (DECISIONS 10.3)."""
