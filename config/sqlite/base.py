"""The backend: a database file and its companions are made for their owner only."""

import os

from django.db.backends.sqlite3 import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Makes files that nobody else can read, whatever the folder allows."""

    def connect(self) -> None:
        """Connect; what is made on the way is private."""
        earlier = os.umask(0o077)
        try:
            super().connect()
        finally:
            os.umask(earlier)
