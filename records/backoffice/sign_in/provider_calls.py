"""Calls to the company's OpenID Connect provider, which hold up nobody else however slow or long its answers are."""

import threading
import time
from typing import Any

import requests
from requests.adapters import HTTPAdapter

SECONDS = 5.0
"""How long one answer may take, and one wait for its next part."""
LARGEST = 1024 * 1024
"""The most bytes of an answer that are read."""
_PART = 64 * 1024
_calls = threading.BoundedSemaphore(2)
"""How many threads of one process may wait for the provider at a time; the others stay free for everybody else."""
TURN_SECONDS = 1.0


class _WholeAnswers(HTTPAdapter):
    """Reads each answer to its end within the limits; the library's own limit only concerns the next part."""

    def send(self, *args: Any, **kwargs: Any) -> requests.Response:
        """Send a request and return its answer; raises RequestException if it is too slow or too long."""
        until = time.monotonic() + SECONDS
        response = super().send(*args, **kwargs)
        parts, length = [], 0
        try:
            while part := response.raw.read1(_PART, decode_content=True):
                parts.append(part)
                length += len(part)
                if length > LARGEST or time.monotonic() > until:
                    raise requests.ConnectionError("The answer is too long or takes too long.")
        except Exception as error:
            response.close()
            raise requests.ConnectionError("The answer could not be read to its end.") from error
        response._content, response._content_consumed = b"".join(parts), True
        return response


class ProviderSession(requests.Session):
    """A session in which a call has a time limit and waits for its turn only briefly."""

    def __init__(self) -> None:
        super().__init__()
        self.max_redirects = 3
        for scheme in ("https://", "http://"):
            self.mount(scheme, _WholeAnswers())

    def request(self, *args: Any, **kwargs: Any) -> requests.Response:
        """Send a request and return the answer; raises RequestException, also while too many others wait."""
        if not _calls.acquire(timeout=TURN_SECONDS):
            raise requests.ConnectionError("Too many calls wait for the provider.")
        try:
            return super().request(*args, **{"timeout": SECONDS, **kwargs})
        finally:
            _calls.release()
