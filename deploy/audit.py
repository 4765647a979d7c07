"""`make audit`: compare the locks with the public data of known vulnerabilities (OSV), by pip-audit.

Exits with 0 if every package of every lock was looked up and none is known to be vulnerable, with 1 if one is, and with
2 if something could not be checked. The output names what was not checked.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CLEAN, VULNERABLE, NOT_CHECKED = 0, 1, 2


def look_up(tool: str, lock: Path) -> list[dict[str, Any]] | None:
    """Return what the tool found for each package of a lock, or None where it could not look them up."""
    command = [tool, "--disable-pip", "--require-hashes", "--vulnerability-service=osv", "--format=json"]
    done = subprocess.run(
        [*command, "--progress-spinner=off", "--requirement", str(lock)], capture_output=True, text=True, check=False
    )
    try:
        packages: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        # Without a network the tool prints a traceback; its last line says what was wrong.
        print(done.stderr.strip().rpartition("\n")[2], file=sys.stderr)
        return None
    return packages


def audit(tool: str, locks: Sequence[Path]) -> int:
    """Look up every lock, print what was found, and return the exit code."""
    codes = {CLEAN}
    for lock in locks:
        packages = look_up(tool, lock)
        if not packages:
            print(f"{lock}: NOTHING WAS CHECKED. The data of known vulnerabilities could not be read.")
            codes.add(NOT_CHECKED)
            continue
        unchecked = [package for package in packages if "skip_reason" in package]
        vulnerable = [package for package in packages if package.get("vulns")]
        for package in unchecked:
            print(f"{lock}: {package['name']} was not checked: {package['skip_reason']}")
        for package in vulnerable:
            for one in package["vulns"]:
                fixes = ", ".join(one.get("fix_versions", [])) or "no version yet"
                print(f"{lock}: {package['name']} {package['version']} has {one['id']}; repaired in {fixes}.")
        print(f"{lock}: {len(packages) - len(unchecked)} packages checked, {len(vulnerable)} vulnerable.")
        codes |= {VULNERABLE} if vulnerable else set()
        codes |= {NOT_CHECKED} if unchecked else set()
    return VULNERABLE if VULNERABLE in codes else max(codes)


if __name__ == "__main__":
    sys.exit(audit(sys.argv[1], [Path(name) for name in sys.argv[2:]]))
