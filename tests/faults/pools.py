"""pgbouncer in transaction mode, as deploy/pgbouncer configures it."""

import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from tests.faults.processes import ROOT, Postgres, free_port, wait_for


class Pool:
    """A pgbouncer of our own in front of one database."""

    def __init__(self, pg: Postgres, name: str) -> None:
        self.port = free_port()
        self.url = f"postgresql://larder@127.0.0.1:{self.port}/larder"
        self.user = pg.user
        self.folder = Path(tempfile.mkdtemp(prefix="pool-", dir=pg.folder.parent))
        text = (ROOT / "deploy" / "pgbouncer" / "pgbouncer.ini").read_text(encoding="ascii")
        for old, new in {
            "host=127.0.0.1 port=5432 dbname=larder": f"host={pg.folder} dbname={name}",
            "listen_port = 6432": f"listen_port = {self.port}",
            "auth_type = scram-sha-256": "auth_type = trust",
            "/etc/pgbouncer/": f"{self.folder}/",
            "/run/pgbouncer": str(self.folder),
        }.items():
            assert old in text
            text = text.replace(old, new)
        (self.folder / "userlist.txt").write_text('"larder" ""\n', encoding="ascii")
        (self.folder / "pgbouncer.ini").write_text(text, encoding="ascii")
        for path in (self.folder, *self.folder.iterdir()):
            pg.give(path)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it if it does not run, and wait until it listens."""
        if self.process is not None:
            return
        program = shutil.which("pgbouncer") or "pgbouncer"
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self.user, program, str(self.folder / "pgbouncer.ini")],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_for(self._listens, 20)

    def kill(self) -> None:
        """Kill it, if it runs."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def _listens(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False
