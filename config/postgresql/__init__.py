"""Django's PostgreSQL backend with bounds for every wait (DECISIONS 10.3)."""
