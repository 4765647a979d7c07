"""`release.sh make` checks, tags, builds and lists a release, and tags nothing that is not ready."""

import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
SECTION = "## 1.2.3 (2026-12-01)\n\n**Before an upgrade, read this.** Nothing.\n\n- **News**: one.\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository that is ready for version 1.2.3."""
    folder = tmp_path / "larder"
    (folder / "deploy").mkdir(parents=True)
    shutil.copy(TOP / "deploy" / "release.sh", folder / "deploy")
    (folder / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n{SECTION}\n## 1.2.2\n\n- Old.\n")
    (folder / ".gitignore").write_text("build\n")
    (folder / "items" / "migrations").mkdir(parents=True)
    (folder / "items" / "migrations" / "0001_initial.py").write_text("")
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


def git(folder: Path, *words: str) -> str:
    """Run git in the folder as somebody."""
    person = ["-c", "user.name=Nora", "-c", "user.email=nora@example.com"]
    done = subprocess.run(["git", *person, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def commit(folder: Path) -> None:
    """Commit everything."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Change something")


def make(folder: Path, version: str = "1.2.3", checks: str = "true") -> subprocess.CompletedProcess[str]:
    """Make a release."""
    person = {f"GIT_{who}_{what}": "nora@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return subprocess.run(
        ["deploy/release.sh", "make", version],
        cwd=folder,
        env={**os.environ, **person, "CHECKS": checks},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_release_is_tagged_built_and_listed(repository: Path) -> None:
    done = make(repository)
    assert done.returncode == 0, done.stderr
    assert git(repository, "tag", "--list").split() == ["v1.2.3"]
    assert "- **News**: one." in git(repository, "tag", "--list", "--format=%(contents)", "v1.2.3")
    output = repository / "build" / "releases" / "1.2.3"
    with tarfile.open(output / "larder-1.2.3.tar.gz") as archive:
        assert "larder-1.2.3/pyproject.toml" in archive.getnames()
    text = (output / "release.txt").read_text()
    assert git(repository, "rev-parse", "HEAD").strip() in text
    assert "items/migrations/0001_initial.py" in text
    assert "Old." not in text
    assert re.search(r"^[0-9a-f]{64}  larder-1.2.3.tar.gz$", text, re.MULTILINE)


def test_the_same_commit_gives_the_same_archive(repository: Path) -> None:
    archive = repository / "build" / "releases" / "1.2.3" / "larder-1.2.3.tar.gz"
    make(repository)
    first = archive.read_bytes()
    git(repository, "tag", "--delete", "v1.2.3")
    make(repository)
    assert archive.read_bytes() == first


def test_the_migrations_since_the_release_before_are_listed(repository: Path) -> None:
    make(repository)
    (repository / "items" / "migrations" / "0002_more.py").write_text("")
    (repository / "pyproject.toml").write_text('[project]\nversion = "1.3.0"\n')
    (repository / "CHANGELOG.md").write_text(SECTION.replace("1.2.3", "1.3.0"))
    commit(repository)
    text = make(repository, "1.3.0").stdout
    assert "Migrations since v1.2.3:\nitems/migrations/0002_more.py\n" in text


@pytest.mark.parametrize(
    ("file", "text", "version", "checks", "message"),
    [
        ("", "", "1.2", "true", "looks like 1.2.3"),
        ("", "", "1.2.4", "true", "names another version"),
        ("", "", "1.2.3", "false", "checks failed"),
        ("", "", "1.2.3", "touch unknown", "changed files"),
        ("CHANGELOG.md", "## 1.2.30\n\n**Before an upgrade**\n", "1.2.3", "true", "no section"),
        ("CHANGELOG.md", "## 1.2.3\n\n- News.\n\n## 1.2.2\n\n**Before an upgrade**\n", "1.2.3", "true", "says nothing"),
    ],
)
def test_what_is_not_ready_is_refused_and_not_tagged(
    repository: Path, file: str, text: str, version: str, checks: str, message: str
) -> None:
    if file:
        (repository / file).write_text(text)
        commit(repository)
    done = make(repository, version, checks)
    assert done.returncode == 1
    assert message in done.stderr
    assert git(repository, "tag", "--list") == ""


def test_uncommitted_changes_and_a_taken_tag_are_refused(repository: Path) -> None:
    (repository / "new").write_text("")
    assert "not committed" in make(repository).stderr
    (repository / "new").unlink()
    assert make(repository).returncode == 0
    assert "already" in make(repository).stderr


def test_each_section_of_the_changelog_says_what_to_read_before_an_upgrade() -> None:
    sections = re.split(r"^## ", (TOP / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert sections
    assert [section.split("\n")[0] for section in sections if "**Before an upgrade" not in section] == []
