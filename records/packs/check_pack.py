#!/usr/bin/env python3
"""Check an unpacked auditor's pack: its files, the chain of its changes, and the seal. Needs Python 3 alone.

    python3 check_pack.py FOLDER [SITE_KEY.pem]

The signature itself is checked by OpenSSL, which most systems have. What it proves depends on the key: compare
seal/public-key.pem with the one that the company gave you by another way, or name that one as SITE_KEY.pem.
"""

import base64
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def files(folder: Path) -> list[str]:
    """Return a line for each file that is missing or differs from SHA256SUMS."""
    faults = []
    for line in (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        expected, _, name = line.partition("  ")
        path = folder / name
        if not path.is_file():
            faults.append(f"{name} is missing.")
            continue
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while piece := file.read(1024 * 1024):
                digest.update(piece)
        if digest.hexdigest() != expected:
            faults.append(f"{name} was altered.")
    return faults


def digest_of_value(value: object) -> str:
    """Return the digest of a value: computed from its salt and text, or the stored one of a value that is not shown."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return hashlib.sha256(f"{value['salt']}\n{value['text']}".encode()).hexdigest()
    return ""


def chain(folder: Path) -> list[str]:
    """Return a line for each change whose hash is wrong, and for a last change that is not the sealed one."""
    faults: list[str] = []
    number, previous = None, None
    with (folder / "changes" / "changes.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            change = json.loads(line)
            if number is not None and (change["number"] != number + 1 or change["previous"] != previous):
                faults.append(f"Change {change['number']} does not follow change {number}.")
            if "facts" in change:
                text = [str(change["version"]), change["previous"], str(change["number"]), change["facts"]]
                text += [digest_of_value(value) for value in change["values"]]
                if hashlib.sha256("\n".join(text).encode()).hexdigest() != change["hash"]:
                    faults.append(f"Change {change['number']} was altered.")
            number, previous = change["number"], change["hash"]
    content = json.loads((folder / "seal" / "seal.json").read_text(encoding="utf-8"))
    if [(head["number"], head["hash"]) for head in content["heads"]] != [(number, previous)]:
        faults.append("The last change is not the one that was sealed.")
    return faults


def seal(folder: Path, key: Path) -> list[str]:
    """Return a line if the seal was not signed with the key, or if that cannot be checked here."""
    document = json.loads((folder / "seal" / "seal.json").read_text(encoding="utf-8"))
    signature = base64.b64decode(document.pop("signature"))
    content = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    with tempfile.TemporaryDirectory() as place:
        paths = Path(place, "content"), Path(place, "signature")
        paths[0].write_bytes(content)
        paths[1].write_bytes(signature)
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(key), "-rawin"]
        command += ["-in", str(paths[0]), "-sigfile", str(paths[1])]
        try:
            done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 (arguments of our own)
        except FileNotFoundError:
            return ["OpenSSL is not installed here, so the signature was not checked."]
    return [] if done.returncode == 0 else ["The seal was altered, or signed with another key."]


def main(arguments: list[str]) -> int:
    """Check the folder and print its faults; returns 1 if there are any, else 0."""
    if not arguments:
        print(__doc__)  # noqa: T201 (the program's answer)
        return 2
    folder = Path(arguments[0])
    key = Path(arguments[1]) if len(arguments) > 1 else folder / "seal" / "public-key.pem"
    faults = files(folder)
    if (folder / "seal" / "seal.json").is_file():
        faults += [*chain(folder), *seal(folder, key)]
    print("\n".join(faults) or "Everything is as it was when the pack was made.")  # noqa: T201 (the program's answer)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
