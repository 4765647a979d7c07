"""The page of the settings, made from the calls that read them and the explanations in .env.example."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCES = ("config/settings.py", "config/gunicorn.py", "config/env.py")
READERS = {
    "text": "text",
    "words": "list, separated by commas",
    "switch": "on or off",
    "integer": "whole number",
    "choice": "one of",
    "networks": "addresses and networks, separated by commas",
    "secret": "secret",
    "collector": "address",
}
"""The methods of `config.env.Environment` that take a variable's name, and what a variable of each kind holds."""
INTERNAL = frozenset({"STATIC_COLLECTED"})
"""Set by the commands of the Makefile, not by those who run the product."""
LARGEST = 2**31 - 1
"""The largest number that `Environment.integer` takes unless the call says otherwise."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A variable of the environment: what it holds, its default, and where it is read."""

    name: str
    kind: str
    default: str
    source: str


def settings_read(top: Path) -> dict[str, Setting]:
    """Return the variables that the code reads, by name, in the order in which they are read."""
    settings: dict[str, Setting] = {}
    for source in SOURCES:
        for call in _calls(ast.parse((top / source).read_text(encoding="utf-8"))):
            setting = _setting(call, source)
            former = settings.get(setting.name)
            # A variable is read more than once where its presence alone matters; the call with the default counts.
            if setting.name not in INTERNAL and (former is None or not former.default):
                settings[setting.name] = setting
    return settings


def _calls(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in READERS
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in ("environment", "_environment", "self")
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node


def _setting(call: ast.Call, source: str) -> Setting:
    reader = call.func.attr  # type: ignore[attr-defined]
    name = str(call.args[0].value)  # type: ignore[attr-defined]
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    kind = READERS[reader]
    default = keywords.get("default") or (call.args[-1] if len(call.args) > 1 else None)
    if reader == "integer":
        lowest, highest = (_text_of(keywords.get(bound)) for bound in ("minimum", "maximum"))
        kind += f", {lowest or 1} or more" if not highest else f" from {lowest or 1} to {highest}"
    elif reader == "choice":
        kind += " " + ", ".join(f"`{word}`" for word in ast.literal_eval(call.args[1]))
    elif name.endswith("_URL"):
        kind = "address"
    return Setting(name, kind, "" if reader == "secret" else _text_of(default), source)


def _text_of(node: ast.expr | None) -> str:
    """Return a default as a reader of the page would write it; empty if it is computed from other things."""
    if node is None:
        return ""
    if isinstance(node, ast.IfExp) and ast.unparse(node.test) == "PRODUCTION":
        return f"{_text_of(node.body)} in production, otherwise {_text_of(node.orelse)}"
    if isinstance(node, ast.Name) and node.id == "PRODUCTION":
        return "on in production, otherwise off"
    if isinstance(node, ast.BinOp):
        return _text_of(ast.Constant(_number(node)))
    if isinstance(node, ast.Constant):
        return ("on" if node.value else "off") if isinstance(node.value, bool) else str(node.value)
    return ""


def _number(node: ast.expr) -> int:
    """Return the value of an arithmetic expression of whole numbers."""
    if isinstance(node, ast.BinOp):
        first, second = _number(node.left), _number(node.right)
        match node.op:
            case ast.Mult():
                return first * second
            case ast.Add():
                return first + second
            case ast.Pow():
                return int(first**second)
            case ast.FloorDiv():
                return first // second
    return int(ast.literal_eval(node))


def explanations(example: str) -> dict[str, tuple[str, str]]:
    """Return each setting's example value and explanation; a setting without text of its own shares the one before."""
    examples: dict[str, tuple[str, str]] = {}
    notes: list[str] = []
    follows_setting = False
    for line in example.splitlines():
        setting = re.match(r"#([A-Z][A-Z0-9_]*)=(.*)", line)
        if setting:
            examples[setting[1]] = (setting[2], " ".join(notes))
            follows_setting = True
        elif line.startswith("# "):
            notes = [line[2:]] if follows_setting else [*notes, line[2:]]
            follows_setting = False
        else:
            notes, follows_setting = [], False
    return examples


def settings_page(top: Path) -> str:
    """Return the page: a table with each setting, what it holds, its default, an example and what it does."""
    examples = explanations((top / ".env.example").read_text(encoding="utf-8"))
    read = settings_read(top)
    lines = [
        "# Settings",
        "",
        "Larder reads these variables of its environment, and of the file `.env` (`ENV_FILE` can name another file).",
        "The environment wins. A faulty value stops the start, which then names all faults at once.",
        "",
        "| Setting | What it holds | Default | Example | Meaning |",
        "|---|---|---|---|---|",
    ]
    for name in examples:
        setting = read[name]
        example, meaning = examples[name]
        cells = [f"`{name}`", setting.kind, setting.default, f"`{example}`" if example else "", meaning]
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join([*lines, ""])
