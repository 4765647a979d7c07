"""How static files are named: under a digest once they are collected, under their plain names before that."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class LarderStaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Files whose names carry a digest of their content, so that browsers may keep them for ever.

    A file that was not collected (tests, `runserver`, one added since) keeps its plain name instead of breaking its
    page.
    """

    def stored_name(self, name: str) -> str:
        """Return the name to link to."""
        try:
            return super().stored_name(name)
        except ValueError:
            return name
