"""The whole table on PostgreSQL: `make bench`, or `make bench ARGS="--markdown FILE"` to write it to a file, too.

If the file is a page that has the table already, such as docs/performance.md, only the table is replaced.

`--only NAME` (interface, lists, scim, processes) for one part; `BENCH_SECONDS` and `BENCH_ROUNDS` for longer turns.
"""

import argparse
import os
import platform
import re
import tempfile
import time
from importlib import import_module
from pathlib import Path

import django

from bench.harness import ROUNDS, SECONDS, Table

PARTS = ("interface", "lists", "scim", "processes")


def main() -> None:
    """Measure, print, and write the table where that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--markdown", type=Path, help="write the table to this file, too")
    parser.add_argument("--only", choices=PARTS, help="measure this part alone")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="larder-bench-") as folder:
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATA_DIR": folder,
            "LOG_LEVEL": "warning",
            "RATE_LIMIT": "100000000",
            "SCIM_RATE_LIMIT": "100000000",
            "DIRECTORY_BRAKE_PEOPLE": "100000000",
            "FILE_SIZE_LIMIT": str(64 * 1024 * 1024),
            "ALLOWED_HOSTS": "127.0.0.1,testserver",
        }
        django.setup()
        table = Table()
        start = time.time()
        print(" | ".join(Table.HEAD), flush=True)
        for part in PARTS if arguments.only is None else (arguments.only,):
            import_module(f"bench.{part}").measure(table)
    print(f"Measured in {time.time() - start:.0f} s.", flush=True)
    if arguments.markdown:
        _write(f"{_about()}\n\n{table.markdown()}", arguments.markdown)


def _write(text: str, file: Path) -> None:
    """Write the table to the file, or replace the table in a page that has one already."""
    page = file.read_text() if file.exists() else ""
    section = re.search(r"^Measured on .*\n\n(?:\|.*\n)+", page, re.MULTILINE)
    file.write_text(page[: section.start()] + text + page[section.end() :] if section else text)


def _about() -> str:
    """Return when and on what the table was measured."""
    from django.db import connection

    connection.ensure_connection()
    database = f"PostgreSQL {connection.pg_version // 10000}" if connection.vendor == "postgresql" else "SQLite"  # type: ignore[attr-defined]
    return (
        f"Measured on {time.strftime('%Y-%m-%d')}: {database}, Python {platform.python_version()}, {os.cpu_count()} "
        f"cores, {ROUNDS} paired rounds of {SECONDS:g} s."
    )


if __name__ == "__main__":
    main()
