"""kill -9 of the server in the middle of uploads: what was answered is whole, and nothing is half there."""

import base64
import contextlib
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

ROOT = Path(__file__).resolve().parent.parent.parent
PREPARE = """
import django
django.setup()
from tests import make, migrated
migrated.main()
print(make.make_key(make.make_site()).secret)
"""
SIZE = 2 * 1024 * 1024


class Server:
    """The product in separate processes, with a separate database and files."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        own = {"DATA_DIR": str(folder), "PORT": str(port), "ENV_FILE": "", "BASE_URL": "", "RATE_LIMIT": "100000"}
        own |= {"DJANGO_SETTINGS_MODULE": "config.settings", "PYTHONPATH": str(ROOT), "WEB_WORKERS": "2"}
        self.environment = {**os.environ, **own}
        self.base = f"http://127.0.0.1:{port}"
        self.key = self.run("-c", PREPARE).stdout.strip().splitlines()[-1]

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run Python with the server's environment."""
        command = [sys.executable, *words]
        return subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=True)

    @contextlib.contextmanager
    def serving(self) -> Iterator["subprocess.Popen[bytes]"]:
        """Serve until the block ends."""
        command = [sys.executable, "-m", "gunicorn", "config.wsgi", "-c", "config/gunicorn.py"]
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, cwd=ROOT, env=self.environment, start_new_session=True, stderr=quiet)
        try:
            self._await()
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)

    def _await(self) -> None:
        for _ in range(600):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{self.base}/readyz", timeout=5).close()
                return
            time.sleep(0.1)
        raise TimeoutError("The server did not start.")

    def send(self, path: str, body: Any = None) -> Any:
        """Send a GET or POST and return the JSON answer."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Ocp-Apim-Subscription-Key": self.key, "Content-Type": "application/json"}
        request = urllib.request.Request(self.base + path, data=data, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())


def upload_until_it_ends(server: Server, hashes: dict[str, str]) -> None:
    """Add documents one by one until the server is gone; put the hash of each one that is stored into `hashes`."""
    while True:
        content = os.urandom(SIZE)
        body = {"Name": "Kept", "FileType": "application/octet-stream", "FileName": "kept.bin"}
        body["FileContent"] = base64.b64encode(content).decode()
        try:
            key = server.send("/document/AddDocument", body)["Id"]
        except (OSError, ValueError):
            return
        hashes[key] = hashlib.sha256(content).hexdigest()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="The files are the same, and SQLite's is one more of them.")
@pytest.mark.long
def test_a_server_killed_in_the_middle_of_uploads_keeps_what_it_answered(tmp_path: Path) -> None:
    server = Server(tmp_path)
    hashes: dict[str, str] = {}
    with server.serving() as process:
        threads = [threading.Thread(target=upload_until_it_ends, args=(server, hashes)) for _ in range(3)]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 60
        while len(hashes) < 6 and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
        for thread in threads:
            thread.join()
    assert len(hashes) >= 6
    with server.serving():
        rows = server.send("/document/GetDocumentList?limit=1000")
        stored_hashes = {one["Id"]: one["FileHash"] for one in rows}
        assert hashes.items() <= stored_hashes.items()
        # What was committed and not answered any more is there as a whole, or not at all.
        assert [one["SiteSequenceId"] for one in rows] == list(range(1, len(rows) + 1))
        for one in rows:
            assert [version["Version"] for version in one["DocumentVersion"]] == [1]
            content = server.send(f"/document/GetDocument/{one['Id']}?WithContent=true")["FileContent"]
            assert hashlib.sha256(base64.b64decode(content)).hexdigest() == one["FileHash"]
        assert "whole" in server.run("manage.py", "verify_files").stdout
        assert server.send("/document/AddDocument", {**_body(), "Name": "After"})["Error"] == ""


def _body() -> dict[str, str]:
    return {"FileType": "text/plain", "FileName": "after.txt", "FileContent": "QQ=="}
