"""The text of a filter or path, put from what directories send into the form that the grammar of SCIM reads."""

import re
from collections.abc import Callable

from scim2_models import InvalidFilterException

from scim.schemas import EXTENSIONS, GROUP, MODELS, USER

LONGEST_SHAPE = 1_000
"""The most characters of a filter that is compiled once for all texts in it."""
_PLACEHOLDER = "text of a filter "
"""How placeholders begin. They contain blanks, so that a word without quotes is never one."""

_SCHEMAS = sorted({USER, GROUP, *(urn for urns in EXTENSIONS.values() for urn in urns)}, key=len, reverse=True)
_DOT_AFTER_SCHEMA = re.compile(rf"\b({'|'.join(re.escape(urn) for urn in _SCHEMAS)})\.(?=[A-Za-z$])", re.IGNORECASE)
_BELOW_USER = {
    field.lower(): urn
    for urn, extension in MODELS["User"].get_extension_models().items()
    for field in extension.__scim_info__.field_by_name
    if field.lower() not in {name.lower() for name in MODELS["User"].__scim_info__.field_by_name}
}
_BARE_NAME = re.compile(rf"(?<![\w:.$-])({'|'.join(_BELOW_USER)})(?=[.\s\[)]|$)", re.IGNORECASE)
"""Names that only an extension of User declares, because Entra sends `manager eq "…"` without its schema."""
_STRING = r'"(?:[^"\\]|\\.)*+(?:"|$)'
"""A string. An unclosed one extends to the end, because searching for its end from each quote is quadratic."""
_STRINGS = re.compile(_STRING)
_OTHER_QUOTE = re.compile(r"(?<=[\s(\[])['`\u00b4\u2018-\u201f\u00ab\u00bb]")
"""A quotation mark that SCIM does not allow: a single one, or a curly one as word processors insert it."""
_BARE_OPERAND = re.compile(
    rf'({_STRING})|(?<=[\s])(eq|ne|co|sw|ew|gt|ge|lt|le)(\s+)(?!["\s]|(?:true|false|null)(?=[\s)\]]|$))([^\s()\[\]"]+)',
    re.IGNORECASE,
)
_BARE_WORD = re.compile(
    rf'({_STRING})|(?<=\s)(eq\s+)(?!(?:true|false|null|-?[\d.]+)(?=[\s)\]]|$))([^\s()\[\]"]+)', re.IGNORECASE
)
"""A word in a path. It is not a number and does not follow another operator, so that the path selects no more."""

_CONSTANT_COMPARISON = re.compile(r"\s(co|sw|ew|gt|ge|lt|le)\s+(true|false|null)(?=[\s)\]]|$)", re.IGNORECASE)
_PART_OF_NUMBER = re.compile(r"\s(co|sw|ew)\s+-?\d[\d.e+-]*(?=[\s)\]]|$)", re.IGNORECASE)
"""A number of which a path compares a part. A filter quotes it; in a path it would match nothing."""


def refuse_misread(expression: str) -> None:
    """Raise InvalidFilterException for a filter that would find other resources than its author means.

    Text in single or curly quotes would be compared with its quotes. Null and booleans have no order and no parts, so
    such a comparison would find nothing, and everything under `not` (RFC 7644, section 3.4.2.2).
    """
    expression_without_texts = _STRINGS.sub('""', expression)
    if _OTHER_QUOTE.search(expression_without_texts):
        raise InvalidFilterException(detail="Put text in a filter in straight double quotes, not in other ones.")
    if _CONSTANT_COMPARISON.search(expression_without_texts):
        raise InvalidFilterException(detail="Only eq and ne compare with null, true and false.")


def clean_filter(expression: str, *, of_users: bool = False) -> str:
    """Return the filter with bare operands quoted and colons instead of dots after schema URNs; strings are unchanged.

    `of_users` adds the schema to names that only an extension of User declares. Raises InvalidFilterException as
    `refuse_misread` does.
    """
    refuse_misread(expression)
    with_quotes = _BARE_OPERAND.sub(lambda m: m[1] or f'{m[2]}{m[3]}"{m[4]}"', expression)
    with_colons = _outside_strings(with_quotes, colon_after_schema)
    return _outside_strings(with_colons, lambda part: _BARE_NAME.sub(_with_schema, part)) if of_users else with_colons


def clean_path(path: str) -> str:
    """Return the path of a PATCH with bare words quoted and with colons instead of dots after schema URNs.

    Raises InvalidFilterException as `refuse_misread` does.
    """
    refuse_misread(path)
    if _PART_OF_NUMBER.search(_STRINGS.sub('""', path)):
        raise InvalidFilterException(detail="Put text in a filter in straight double quotes.")
    return _outside_strings(_BARE_WORD.sub(lambda m: m[1] or f'{m[2]}"{m[3]}"', path), colon_after_schema)


def _outside_strings(text: str, change: Callable[[str], str]) -> str:
    return "".join(part if i % 2 else change(part) for i, part in enumerate(re.split(f"({_STRING})", text)))


def _with_schema(name: re.Match[str]) -> str:
    return f"{_BELOW_USER[name[1].lower()]}:{name[1]}"


def colon_after_schema(path: str) -> str:
    """Return the path with a colon before an extension's attribute where the caller wrote a dot."""
    return _DOT_AFTER_SCHEMA.sub(r"\1:", path)


def schema_before(path: str) -> str:
    """Return the path with its schema added if it starts with a name that only an extension of User declares."""
    return _BARE_NAME.sub(lambda m: m[0] if m.start() else _with_schema(m), path)


def qualified_name(kind: str, name: str) -> str:
    """Return the name of an attribute as sortBy and attributes send it, with its schema where it lacks it."""
    with_colon = colon_after_schema(name)
    return schema_before(with_colon) if kind == "User" else with_colon


def shape_of(expression: str) -> tuple[str, dict[str, str]]:
    """Return a filter with a placeholder in place of each text in it, and the text of each placeholder.

    There are none if the filter is long or contains an escape, a character that is not printed or an open string.
    """
    odd = "\\" in expression or not expression.isprintable() or expression.count('"') % 2
    if odd or len(expression) > LONGEST_SHAPE:
        return expression, {}
    texts: dict[str, str] = {}

    def with_placeholder(match: re.Match[str]) -> str:
        placeholder = f"{_PLACEHOLDER}{len(texts)}."
        texts[placeholder] = match[0].strip('"')
        return f'"{placeholder}"'

    return _STRINGS.sub(with_placeholder, expression), texts
