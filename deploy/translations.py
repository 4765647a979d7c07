"""Keep the catalogues of translations in step with the texts that the product shows (docs/translations.md).

    python deploy/translations.py            # add new texts to each catalogue, remove unused ones, and compile it
    python deploy/translations.py --check    # say what is missing, unused, untranslated or not compiled

Texts are read from the code and the templates. The names of models and fields, permissions and operations of the
history follow from names in the code, so they are asked for.
"""

import ast
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import django
import polib

TOP = Path(__file__).resolve().parents[1]
ROOMS = ("config", "records", "documents", "materials", "scim")
ONE = {"gettext", "gettext_lazy", "gettext_noop", "_"}
SEVERAL = {"ngettext", "ngettext_lazy"}
WITH_CONTEXT = {"pgettext", "pgettext_lazy"}
IN_SCRIPT = re.compile(r'\b(?:larderSay|say)\("([^"]*)"')
IN_FILTER = re.compile(r"""_\(("|')(.*?)\1\)""")
Text = tuple[str, str, str]
"""The context, the text and its plural; empty where there is none."""


def texts() -> dict[Text, str]:
    """Return all texts of pages, mails and papers, and where each was first found."""
    places: dict[Text, str] = {}
    for path in sorted(path for room in ROOMS for path in (TOP / room).rglob("*.py") if "migrations" not in path.parts):
        for text in _of_code(ast.parse(path.read_text())):
            places.setdefault(text, str(path.relative_to(TOP)))
    for path in sorted(_templates()):
        for text in _of_template(path.read_text()):
            places.setdefault(text, str(path.relative_to(TOP)))
    for name in _of_models():
        places.setdefault(("", name, ""), "names of models, fields and permissions")
    for name in _of_operations():
        places.setdefault(("", name, ""), "operations of the history")
    return places


def texts_of_scripts() -> dict[Text, str]:
    """Return all texts that scripts show, and where each was first found."""
    places: dict[Text, str] = {}
    for path in sorted((TOP / "static").rglob("*.js")):
        for text in IN_SCRIPT.findall(path.read_text()):
            places.setdefault(("", text, ""), str(path.relative_to(TOP)))
    return places


TEXTS = {"django": texts, "djangojs": texts_of_scripts}
"""What each catalogue holds, by the name of its file."""


def _of_code(tree: ast.AST) -> Iterator[Text]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            strings = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            if node.func.id in ONE and len(strings) == 1:
                yield "", strings[0], ""
            elif node.func.id in SEVERAL and len(strings) == 2:
                yield "", strings[0], strings[1]
            elif node.func.id in WITH_CONTEXT and len(strings) == 2:
                yield strings[0], strings[1], ""


def _templates() -> Iterator[Path]:
    for folder in (TOP / "templates", *(path for room in ROOMS for path in (TOP / room).rglob("templates"))):
        yield from (path for path in folder.rglob("*") if path.suffix in (".html", ".txt", ".svg"))


def _of_template(source: str) -> Iterator[Text]:
    from django.template import Template
    from django.template.base import Node
    from django.templatetags.i18n import BlockTranslateNode, TranslateNode

    for node in Template(source).nodelist.get_nodes_by_type(Node):
        context = getattr(node, "message_context", None)
        context = context.resolve({}) if context else ""
        if isinstance(node, TranslateNode) and isinstance(node.filter_expression.var, str):
            yield context, node.filter_expression.var, ""
        elif isinstance(node, TranslateNode) and node.filter_expression.var.literal is not None:
            yield context, str(node.filter_expression.var.literal), ""
        elif isinstance(node, BlockTranslateNode):
            singular = node.render_token_list(node.singular)[0]
            yield context, singular, node.render_token_list(node.plural)[0] if node.plural else ""
    for _quote, text in IN_FILTER.findall(source):
        yield "", text, ""


def _of_models() -> Iterator[str]:
    from django.apps import apps

    from records.backoffice.apps import OWN_PACKAGES

    for model in apps.get_models():
        if model.__module__.startswith(OWN_PACKAGES):
            options = model._meta
            yield str(options.verbose_name)
            yield str(options.verbose_name_plural)
            yield from (str(field.verbose_name) for field in (*options.local_fields, *options.local_many_to_many))
            yield from (str(name) for _codename, name in options.permissions)


def _of_operations() -> Iterator[str]:
    """Yield what the history calls each operation that the code names."""
    from django.apps import apps

    from records.backoffice.wording import VERBS, operation_label

    verbs = re.compile(rf'"((?:{"|".join(VERBS)})(?:[A-Z][A-Za-z]*)?)"')
    operations: set[str] = set()
    for path in (path for room in ROOMS for path in (TOP / room).rglob("*.py") if "migrations" not in path.parts):
        operations |= set(verbs.findall(path.read_text()))
    kinds = [model._meta.label for model in apps.get_models()]
    operations |= {f"{verb}{kind.rpartition('.')[2]}" for verb in ("Archive", "Restore", "Import") for kind in kinds}
    names = {kind.rpartition(".")[2] for kind in kinds}
    for operation in sorted(operations):
        labels = {operation_label(operation, kind) for kind in kinds}
        # An operation on a kind that it names is shown without the name; any other one is shown with all of its words.
        yield min(labels, key=len)
        if re.sub("^[A-Z][a-z]*", "", operation) not in names or operation.startswith(
            ("Set", "Add", "Remove", "Show", "Choose")
        ):
            yield max(labels, key=len)


def catalogues() -> Iterable[Path]:
    """Return the catalogues: two a language, the second for scripts."""
    return sorted((TOP / "locale").glob("*/LC_MESSAGES/*.po"))


def compile_catalogue(catalogue: Any) -> bytes:
    """Return what Django reads; the same for the same catalogue."""
    content: bytes = catalogue.to_binary()
    return content


def update(path: Path) -> None:
    """Write the catalogue anew with all its texts, each with the translation that it has already."""
    expected = TEXTS[path.stem]()
    old = {(one.msgctxt or "", one.msgid, one.msgid_plural): one for one in polib.pofile(str(path), wrapwidth=100)}
    new = polib.POFile(wrapwidth=100)
    new.metadata = polib.pofile(str(path)).metadata
    for (context, text, plural), where in sorted(expected.items(), key=lambda item: (item[1], item[0][1])):
        former = old.get((context, text, plural))
        entry = polib.POEntry(msgctxt=context or None, msgid=text, msgid_plural=plural, occurrences=[(where, "")])
        if plural:
            entry.msgstr_plural = former.msgstr_plural if former else {0: "", 1: ""}
        else:
            entry.msgstr = former.msgstr if former else ""
        if re.search(r"%\(\w+\)", text):
            entry.flags.append("python-format")
        new.append(entry)
    new.save(str(path))
    path.with_suffix(".mo").write_bytes(compile_catalogue(new))


def faults(path: Path) -> Iterator[str]:
    """Yield what is wrong with a catalogue."""
    expected = TEXTS[path.stem]()
    catalogue = polib.pofile(str(path))
    have = {(one.msgctxt or "", one.msgid, one.msgid_plural): one for one in catalogue}
    language = path.parts[-3]
    for text in expected.keys() - have.keys():
        yield f"{language}: not in the catalogue: {text[1]!r} ({expected[text]})"
    for text in have.keys() - expected.keys():
        yield f"{language}: not used any more: {text[1]!r}"
    for text, entry in have.items():
        translations = list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]
        if not all(translations) or entry.fuzzy:
            yield f"{language}: not translated: {text[1]!r}"
        for one in filter(None, translations):
            if extra := placeholders(one) - placeholders(text[1] + text[2]):
                yield f"{language}: {text[1]!r} has no {', '.join(sorted(extra))}"
    if path.with_suffix(".mo").read_bytes() != compile_catalogue(catalogue):
        yield f"{language}: not compiled: run python deploy/translations.py"


def placeholders(text: str) -> set[str]:
    """Return the placeholders and the tags of a text."""
    return set(re.findall(r"%\(\w+\)\w|(?<!%)\{[\w.]*\}|</?\w+", text))


def main(arguments: list[str]) -> int:
    """Update or check the catalogues; return the exit code."""
    sys.path.insert(0, str(TOP))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    if "--check" not in arguments:
        for path in catalogues():
            update(path)
        return 0
    lines = [fault for path in catalogues() for fault in faults(path)]
    print("\n".join(lines) or "The catalogues are complete.")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
