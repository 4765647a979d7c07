"""The names of static files: with a digest after they are collected, plain names before that."""

from django.conf import settings
from whitenoise.storage import CompressedManifestStaticFilesStorage


class LarderStaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Files whose names contain a digest of their content, so that browsers may keep them for ever.

    A file that was not collected keeps its plain name, so that its page still works. Where STATIC_COLLECTED is off, as
    in tests, every file does, even if an older collection is there.
    """

    def stored_name(self, name: str) -> str:
        """Return the name to use in links."""
        if not settings.STATIC_COLLECTED:
            return name
        try:
            return super().stored_name(name)
        except ValueError:
            return name
