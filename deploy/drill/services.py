"""The services of the drill: PostgreSQL with a replica, pgbouncer, Redis, a stand-in for S3, and the proxy.

Each has a folder and a port of its own, and all end with the drill.
"""

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psycopg

from tests.postgres import find_binaries, initialise, non_root_prefix

TOP = Path(__file__).resolve().parents[2]
ADDRESS = "127.0.0.1"


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(what: str, port: int, seconds: float = 30) -> None:
    """Wait until the port takes connections; raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            socket.create_connection((ADDRESS, port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(f"{what} does not answer on port {port}.")


def wait_until_healthy(what: str, port: int, seconds: float = 180) -> None:
    """Wait until a web server answers /healthz: it listens before its processes have loaded; raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection(ADDRESS, port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return
        except (OSError, http.client.HTTPException):
            time.sleep(0.2)
        finally:
            connection.close()
    raise TimeoutError(f"{what} does not answer /healthz on port {port}.")


class Services:
    """Starts processes with their output in files, and ends them all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[str | Path], cwd: Path = TOP, **environment: str) -> None:
        """Start a process; what it prints goes to <name>.log."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [str(word) for word in command],
                cwd=cwd,
                env={**os.environ, **environment},
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def end(self, name: str, how: int = signal.SIGTERM, seconds: float = 60) -> None:
        """End a process and wait until it is gone."""
        process = self.running.pop(name)
        if process.poll() is None:
            # The server of PostgreSQL runs below the command that gives up root's rights, in the same group.
            os.killpg(process.pid, how)
        process.wait(seconds)

    def end_all(self) -> None:
        """End what still runs, the newest first."""
        for name in reversed(list(self.running)):
            how = signal.SIGINT if name.startswith("postgres") else signal.SIGTERM
            try:
                self.end(name, how, 20)
            except (subprocess.TimeoutExpired, ProcessLookupError):
                process = self.running.pop(name, None)
                if process is not None:
                    process.kill()


class Postgres:
    """One PostgreSQL server in a folder of its own, reached over TCP."""

    def __init__(self, services: Services, name: str) -> None:
        self.services, self.name = services, name
        self.binaries = find_binaries()
        self.folder = services.folder / name
        self.folder.mkdir()
        self.user = non_root_prefix(self.folder)
        self.port = free_port()

    @property
    def url(self) -> str:
        """Return the address for programs."""
        return f"postgresql://larder@{ADDRESS}:{self.port}/larder"

    def make(self) -> None:
        """Make an empty cluster that replicas may follow, and the database."""
        initialise(self.binaries, self.folder, self.user)
        with (self.folder / "data" / "pg_hba.conf").open("a", encoding="ascii") as file:
            file.write(f"host replication larder {ADDRESS}/32 trust\n")
        self.serve()
        self.run("CREATE DATABASE larder", database="postgres")

    def follow(self, primary: "Postgres") -> None:
        """Copy the primary and follow it, waited for by every commit that is acknowledged."""
        copy = [self.binaries / "pg_basebackup", "-h", ADDRESS, "-p", str(primary.port), "-U", "larder"]
        options = ["-D", self.folder / "data", "-R", "-X", "stream", "-c", "fast", "-C", "-S", "replica"]
        subprocess.run([str(word) for word in [*self.user, *copy, *options]], check=True, capture_output=True)
        self.serve()
        primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.run("SELECT pg_reload_conf()")

    def serve(self) -> None:
        """Start the server and wait until it answers."""
        options = {"listen_addresses": ADDRESS, "port": str(self.port), "unix_socket_directories": str(self.folder)}
        words = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        self.services.start(
            self.name,
            [*self.user, self.binaries / "postgres", "-D", self.folder / "data", "-c", "max_connections=120", *words],
        )
        wait_for(self.name, self.port)

    def run(self, statement: str, database: str = "larder") -> list[tuple[object, ...]]:
        """Run a statement outside transactions and return its rows, once the server lets somebody in."""
        deadline = time.monotonic() + 30
        while True:
            try:
                with psycopg.connect(
                    host=ADDRESS, port=self.port, user="larder", dbname=database, autocommit=True
                ) as connection:
                    cursor = connection.execute(statement.encode())
                    return cursor.fetchall() if cursor.description else []
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def promote(self) -> None:
        """Make the replica the primary and wait until it takes writes."""
        self.run("SELECT pg_promote(true, 30)", database="postgres")
        self.run("ALTER SYSTEM RESET synchronous_standby_names", database="postgres")
        self.run("SELECT pg_reload_conf()", database="postgres")


class Bouncer:
    """pgbouncer in transaction mode in front of whichever server is the primary."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.folder = services.folder / "pgbouncer"
        self.folder.mkdir()
        self.port = free_port()

    @property
    def url(self) -> str:
        """Return the address for programs."""
        return f"postgresql://larder@{ADDRESS}:{self.port}/larder"

    def configure(self, primary: Postgres) -> None:
        """Write the configuration: the shipped one, with this machine's ports and folders."""
        text = (TOP / "deploy" / "pgbouncer" / "pgbouncer.ini").read_text(encoding="ascii")
        text = text.replace("host=127.0.0.1 port=5432", f"host={ADDRESS} port={primary.port}")
        text = text.replace("listen_port = 6432", f"listen_port = {self.port}")
        text = text.replace("auth_type = scram-sha-256", "auth_type = trust")
        text = text.replace("/etc/pgbouncer/", f"{self.folder}/").replace("/run/pgbouncer", str(self.folder))
        (self.folder / "userlist.txt").write_text('"larder" ""\n', encoding="ascii")
        (self.folder / "pgbouncer.ini").write_text(text, encoding="ascii")

    def start(self) -> None:
        """Start pgbouncer, which does not run as root."""
        for path in (self.folder, *self.folder.iterdir()):
            shutil.chown(path, 65534, 65534)
        self.services.folder.chmod(0o755)
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        self.services.start(
            "pgbouncer", [*user, shutil.which("pgbouncer") or "pgbouncer", self.folder / "pgbouncer.ini"]
        )
        wait_for("pgbouncer", self.port)

    def point_at(self, primary: Postgres) -> None:
        """Send everybody to another server: running transactions end first, and new ones wait."""
        self.configure(primary)
        os.killpg(self.services.running["pgbouncer"].pid, signal.SIGHUP)


def start_redis(services: Services) -> int:
    """Start Redis without a file and return its port."""
    port = free_port()
    services.start(
        "redis", ["redis-server", "--port", str(port), "--bind", ADDRESS, "--save", "", "--dir", services.folder]
    )
    wait_for("redis", port)
    return port


def start_files(services: Services) -> str:
    """Start the stand-in for S3, make the bucket, and return STORAGE_URL."""
    import boto3

    port = free_port()
    services.start("files", [Path(sys.executable).with_name("moto_server"), "-H", ADDRESS, "-p", str(port)])
    wait_for("files", port)
    endpoint = f"http://{ADDRESS}:{port}"
    store = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="drill",
        aws_secret_access_key="drill",  # noqa: S106 (a stand-in)
    )
    store.create_bucket(Bucket="larder")
    return f"s3://drill:drill@larder/?endpoint_url={endpoint}&region=us-east-1"


class Proxy:
    """nginx with the shipped site, a certificate of its own, and the web servers that are named to it."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.folder = services.folder / "nginx"
        (self.folder / "tls").mkdir(parents=True)
        self.port = free_port()

    @property
    def url(self) -> str:
        """Return the address that people and programs use."""
        return f"https://{ADDRESS}:{self.port}"

    def configure(self, ports: Sequence[int]) -> None:
        """Write the configuration for these web servers, and a certificate where there is none."""
        certificate = self.folder / "tls" / "tls.crt"
        if not certificate.exists():
            command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=larder"
            command += f" -addext subjectAltName=IP:{ADDRESS}"
            files = ["-keyout", self.folder / "tls" / "tls.key", "-out", certificate]
            subprocess.run([*command.split(), *map(str, files)], check=True, capture_output=True)
        site = (TOP / "deploy" / "nginx" / "larder.conf").read_text(encoding="utf-8")
        for old, new in {
            "listen 443 ssl http2": f"listen {ADDRESS}:{self.port} ssl http2",
            "    listen [::]:443 ssl http2;\n": "",
            "listen 80;": f"listen {ADDRESS}:{free_port()};",
            "    listen [::]:80;\n": "",
            "/etc/nginx/larder-upstream.conf": str(self.folder / "upstream.conf"),
            "/etc/nginx/tls": str(self.folder / "tls"),
            "/var/cache/nginx": str(self.folder),
            "/dev/stdout": str(self.folder / "access.log"),
        }.items():
            site = site.replace(old, new)
        servers = "".join(f"    server {ADDRESS}:{port} max_fails=0;\n" for port in ports)
        (self.folder / "upstream.conf").write_text(f"upstream larder_web {{\n{servers}    keepalive 32;\n}}\n")
        (self.folder / "site.conf").write_text(site, encoding="utf-8")
        (self.folder / "nginx.conf").write_text(
            f"worker_processes 2;\npid {self.folder}/pid;\nerror_log {self.folder}/error.log;\ndaemon off;\n"
            "events { worker_connections 2048; }\n"
            f"http {{\n  client_body_temp_path {self.folder}/body;\n  proxy_temp_path {self.folder}/proxy;\n"
            f"  fastcgi_temp_path {self.folder}/f;\n  uwsgi_temp_path {self.folder}/u;\n"
            f"  scgi_temp_path {self.folder}/s;\n"
            f"  include /etc/nginx/mime.types;\n  include {self.folder}/site.conf;\n}}\n"
        )

    def start(self) -> None:
        """Start the proxy."""
        self.services.start(
            "nginx", [shutil.which("nginx") or "nginx", "-p", self.folder, "-c", self.folder / "nginx.conf"]
        )
        wait_for("nginx", self.port)
