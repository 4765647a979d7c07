"""The names of static files: with a digest after they are collected, plain names before that."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class LarderStaticFilesStorage(CompressedManifestStaticFilesStorage):
    """Files whose names contain a digest of their content, so that browsers may keep them for ever.

    A file that was not collected (in tests, with `runserver`, or added since) keeps its plain name, so that its page
    still works.
    """

    def stored_name(self, name: str) -> str:
        """Return the name to use in links."""
        try:
            return super().stored_name(name)
        except ValueError:
            return name
