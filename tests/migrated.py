"""A migrated database that is cached from one test run to the next, because migrating takes 20 seconds.

`python -m tests.migrated` migrates the database of the environment in this way.

The tables are cached in `build/migrated` under a digest of every migration file. What `post_migrate` fills in
(permissions, roles, reference lists) is made anew for each run, so that a change of it is always tested.
"""

import fcntl
import hashlib
import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import django
from django.apps import apps
from django.core.management import call_command
from django.core.management.commands import migrate
from django.core.management.sql import emit_post_migrate_signal
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor

from tests.postgres import find_binaries

CACHE = Path(__file__).resolve().parent.parent / "build" / "migrated"


@contextmanager
def cached_tables() -> Iterator[None]:
    """Let `migrate` fill an empty database from the cached tables, and cache them where there are none yet."""
    handle: Callable[..., Any] = migrate.Command.handle

    def start(command: migrate.Command, *arguments: Any, **options: Any) -> Any:
        connection = connections[options["database"]]
        if not connection.introspection.table_names():
            file = file_of(connection)
            with one_process(file):
                if not file.exists():
                    return handle(command, *arguments, **options)
            load(connection, file)
        return handle(command, *arguments, **options)

    def end(verbosity: int, interactive: bool, db: str, **options: Any) -> Any:
        connection = connections[db]
        file = file_of(connection)
        if not file.exists() and is_whole(connection):
            save(connection, file)
        return emit_post_migrate_signal(verbosity, interactive, db, **options)

    with patch.object(migrate.Command, "handle", start), patch.object(migrate, "emit_post_migrate_signal", end):
        yield


@contextmanager
def one_process(file: Path) -> Iterator[None]:
    """Let one process at a time migrate; those that waited find what it cached, and need no processor meanwhile."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def file_of(connection: BaseDatabaseWrapper) -> Path:
    """Return the file in which the tables of the present migrations are cached for this kind of database."""
    digest = hashlib.sha256(django.__version__.encode())
    for folder in sorted({Path(app.path) / "migrations" for app in apps.get_app_configs()}):
        for file in sorted(folder.glob("*.py")):
            digest.update(str(file.name).encode() + file.read_bytes())
    return CACHE / f"{connection.vendor}-{digest.hexdigest()[:16]}"


def is_whole(connection: BaseDatabaseWrapper) -> bool:
    """Tell whether every migration was applied; a test that migrates back and forth caches nothing."""
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def load(connection: BaseDatabaseWrapper, file: Path) -> None:
    """Fill an empty database from a cached file."""
    connection.close()
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(name_of(connection))) as target:
            source.backup(target)
    else:
        postgresql("pg_restore", connection, "--exit-on-error", "--no-owner", str(file))


def save(connection: BaseDatabaseWrapper, file: Path) -> None:
    """Cache a migrated database."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(f".{os.getpid()}")
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(name_of(connection))) as source, closing(sqlite3.connect(new)) as target:
            source.backup(target)
    else:
        postgresql("pg_dump", connection, "--format=custom", "--compress=0", f"--file={new}")
    new.replace(file)


def name_of(connection: BaseDatabaseWrapper) -> str:
    """Return the name of the database that the connection has open."""
    return str(connection.settings_dict["NAME"])


def postgresql(program: str, connection: BaseDatabaseWrapper, *arguments: str) -> None:
    """Run one of the server's own programs on the database."""
    settings = connection.settings_dict
    server = {"host": settings["HOST"] or settings["OPTIONS"].get("host"), "port": settings["PORT"]}
    options = [f"--{name}={value}" for name, value in server.items() if value]
    command = [
        str(find_binaries() / program),
        f"--username={settings['USER']}",
        *options,
        f"--dbname={name_of(connection)}",
    ]
    environment = {**os.environ, "PGPASSWORD": settings["PASSWORD"] or ""}
    subprocess.run([*command, *arguments], check=True, env=environment)


def main() -> None:
    """Migrate the database of the environment, from the cached tables where there are any."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    with cached_tables():
        call_command("migrate", interactive=False, verbosity=0)


if __name__ == "__main__":
    main()
