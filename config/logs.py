"""Which logger writes what: one JSON object a line on stderr."""


def logging_at(level: str) -> dict[str, object]:
    """Return Django's LOGGING setting for a level such as "INFO"."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "records.operations.logs.JsonFormatter"}},
        "filters": {"without_outages": {"()": "records.operations.logs.WithoutOutages"}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "json"},
            "metrics": {"class": "config.metrics.MetricsHandler"},
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Django attaches a handler of its own to "django"; everything goes through the handler above instead.
            "django": {"handlers": [], "level": level, "propagate": True},
            # The access log has the callers' errors; this logger only reports errors of the server.
            "django.request": {"level": "ERROR", "filters": ["without_outages"]},
            "django.security": {"level": "ERROR"},
            # SQL messages contain the values of their parameters.
            "django.db.backends": {"level": "INFO"},
            "django_scim": {"level": "ERROR"},
            # The metrics count the lines of these loggers.
            "larder.access": {"handlers": ["metrics"], "level": level, "propagate": True},
            "larder.replica": {"handlers": ["metrics"], "level": "DEBUG", "propagate": False},
            "larder.database": {"handlers": ["metrics"], "level": level, "propagate": True},
            "larder.security": {"handlers": ["metrics"], "level": level, "propagate": True},
        },
    }
