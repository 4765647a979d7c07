"""`python -m config.waiting`: wait, for at most a minute, until the server on this machine answers."""

import http.client
import time

from config.gunicorn import bind

DEADLINE = 60.0


def main() -> None:
    """Request `/healthz` again and again until it answers."""
    host, _, port = bind.rpartition(":")
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        try:
            connection = http.client.HTTPConnection(host.strip("[]") or "127.0.0.1", int(port), timeout=2)
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        except (OSError, ValueError, http.client.HTTPException):
            time.sleep(0.2)
        else:
            return


if __name__ == "__main__":
    main()
