"""Build the documentation as a site: `python -m deploy.site.build OUTPUT`, or `make docs`.

The pages of docs/ are copied beside what is made here from the project itself: the table of settings (from the code
that reads them), the list of decisions, the packages with their versions and licences, and the changelog. A link that
leads nowhere or a page that is not in the navigation fails the build.
"""

import importlib.metadata
import re
import shutil
import subprocess
import sys
from pathlib import Path

from deploy.site.settings_page import settings_page

TOP = Path(__file__).resolve().parents[2]
LICENCE_CLASSIFIER = "License :: OSI Approved :: "

NAVIGATION: dict[str, list[tuple[str, str]]] = {
    "Using it": [("User guide", "user-guide.md")],
    "Interfaces": [
        ("Materials", "materials.md"),
        ("ERP: materials every night", "guides/erp-materials.md"),
        ("CRM: complaints with a photo", "guides/crm-complaints.md"),
        ("Warehouse: following changes", "guides/following-changes.md"),
        ("Webhooks: receiving changes", "guides/webhooks.md"),
        ("Answers, limits and time zones", "guides/answers.md"),
        ("Microsoft Entra ID", "entra-id.md"),
        ("Okta", "okta.md"),
        ("Conformance", "conformance.md"),
    ],
    "Running it": [
        ("Settings", "settings.md"),
        ("Operations", "operations.md"),
        ("Reliability", "reliability.md"),
        ("Security", "security.md"),
        ("Evidence", "evidence.md"),
        ("Performance", "performance.md"),
        ("Scale", "scale.md"),
    ],
    "Working on it": [
        ("Architecture", "architecture.md"),
        ("Glossary", "glossary.md"),
        ("Languages", "translations.md"),
        ("Decisions", "decisions/index.md"),
        ("Changelog", "changelog.md"),
        ("Packages and licences", "packages.md"),
    ],
}
"""The sections of the site: each page's title and its file below docs/. Files that do not exist yet are left out."""


def decisions_page(folder: Path) -> str:
    """Return a page that lists the decisions with the title of each."""
    lines = ["# Decisions", ""]
    for file in sorted(folder.glob("0*.md")):
        title = file.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        lines.append(f"- [{title}]({file.name})")
    return "\n".join([*lines, ""])


def packages_page(lock: str) -> str:
    """Return a page with the name, version and licence of every package that a server installs."""
    rows = []
    for name, version in re.findall(r"^([a-z0-9._-]+)==([^ ;\\]+)", lock, re.MULTILINE):
        try:
            meta = importlib.metadata.metadata(name)
        except importlib.metadata.PackageNotFoundError:
            rows.append(f"| {name} | {version} | only on other systems |")
            continue
        classifiers = [
            text.removeprefix(LICENCE_CLASSIFIER)
            for text in meta.get_all("Classifier") or []
            if text.startswith(LICENCE_CLASSIFIER)
        ]
        texts = [
            *(meta.get_all("License-Expression") or []),
            ", ".join(classifiers),
            *(meta.get_all("License") or []),
        ]
        licence = next((text.split("\n")[0] for text in texts if text), "")
        rows.append(f"| {name} | {version} | {licence[:80] or 'not stated'} |")
    return "\n".join(["# Packages and licences", "", "| Package | Version | Licence |", "|---|---|---|", *rows, ""])


def start_page(readme: str) -> str:
    """Return the README as the first page, its links into docs/ made relative to the site."""
    text = re.sub(r"\]\(docs/decisions\)", "](decisions/index.md)", readme)
    text = re.sub(r"\]\(docs/([^)]+)\)", r"](\1)", text)
    text = text.replace("](.env.example)", "](settings.md)").replace("](CHANGELOG.md)", "](changelog.md)")
    return re.sub(r"\[([^]]+)\]\(LICENSE\)", r"\1", text)


def configuration(pages: Path) -> str:
    """Return the configuration of the site, with the navigation of the pages that exist."""
    groups = []
    for section, entries in NAVIGATION.items():
        links = ", ".join(f'{{ "{title}" = "{file}" }}' for title, file in entries if (pages / file).is_file())
        if links:
            groups.append(f'  {{ "{section}" = [{links}] }},')
    navigation = "\n".join(groups)
    return f"""[project]
site_name = "Larder"
site_description = "Quality and food-safety records: a JSON interface, a back-office and SCIM provisioning."
docs_dir = "docs"
site_dir = "site"
use_directory_urls = false
nav = [
  {{ "Start" = "index.md" }},
{navigation}
]
[project.theme]
language = "en"
font = false
features = ["content.code.copy", "navigation.footer", "navigation.top", "search.highlight"]
[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
[project.markdown_extensions]
tables = {{}}
toc.permalink = true
pymdownx.superfences = {{}}
pymdownx.highlight.anchor_linenums = true
"""


def pages_without_link(pages: Path) -> list[str]:
    """Return the pages that no section of the navigation names."""
    linked = {file for entries in NAVIGATION.values() for _, file in entries} | {"index.md"}
    files = (file.relative_to(pages).as_posix() for file in pages.rglob("*.md"))
    return sorted(file for file in files if file not in linked and not file.startswith("decisions/"))


def main(output: Path) -> int:
    """Build the site below `output` and return the exit code: 1 where a page or a link is wrong."""
    pages = output / "docs"
    shutil.rmtree(output, ignore_errors=True)
    shutil.copytree(TOP / "docs", pages)
    (pages / "index.md").write_text(start_page((TOP / "README.md").read_text(encoding="utf-8")), encoding="utf-8")
    texts = {
        "settings.md": settings_page(TOP),
        "decisions/index.md": decisions_page(TOP / "docs" / "decisions"),
        "packages.md": packages_page((TOP / "deploy" / "requirements.lock").read_text(encoding="utf-8")),
        "changelog.md": (TOP / "CHANGELOG.md").read_text(encoding="utf-8"),
    }
    for name, text in texts.items():
        (pages / name).write_text(text, encoding="utf-8")
    missing = pages_without_link(pages)
    if missing:
        print(f"No section of the navigation names {', '.join(missing)}.", file=sys.stderr)
        return 1
    (output / "zensical.toml").write_text(configuration(pages), encoding="utf-8")
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "--clean", "-f", "zensical.toml"]
    return subprocess.run(command, cwd=output, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
