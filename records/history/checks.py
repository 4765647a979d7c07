"""What `manage.py check --deploy` and the start of the server report about the key of the seals."""

from django.core.checks import CheckMessage, Warning, register


@register("larder", deploy=True)
def check_seal_key(**_: object) -> list[CheckMessage]:
    """Warn in production if the key that signs the history is stored with the data that it has to prove."""
    from records.history import seals  # Its library of cryptography is not needed to answer requests.

    if not seals.key_is_too_near():
        return []
    return [
        Warning(
            "The key that signs the history is in DATA_DIR, beside the data.",
            hint="Set SEAL_KEY_FILE to a file that nobody who can write to the database can read.",
            id="larder.W001",
        )
    ]
