"""The cache of an installation without Redis, whose package need not be installed then."""

from django.core.cache.backends.locmem import LocMemCache


class MemoryCache(LocMemCache):
    """The memory of the process, which takes any key: Django looks at each character for what memcached refuses."""

    def validate_key(self, key: str) -> None:
        """Do nothing."""
