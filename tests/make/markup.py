"""What the markup of a page says without a browser: the kinds of its elements, and what is missing from it."""

import re
from collections import Counter
from html.parser import HTMLParser

EMPTY = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
OWN_NAMES = re.compile(r"^(field|model|app|step|link|chart|page|tone)-")
"""Classes that name one field, model or button, not a kind of element."""
ATTRIBUTES = (
    "role",
    "type",
    "tabindex",
    "aria-label",
    "aria-labelledby",
    "aria-describedby",
    "aria-live",
    "aria-current",
    "scope",
    "href",
)
"""The attributes that tell kinds of elements apart."""
FRAME = {"header.top[]", "details.menu[]"}
"""The header and the menu, which all pages of the back-office share."""


class Markup(HTMLParser):
    """Collects the kinds of a page's elements and its faults; what is in a template or hidden counts as well."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.kinds: set[tuple[str, ...]] = set()
        self.kinds_in_frame: set[tuple[str, ...]] = set()
        self.headings: list[str] = []
        self.title = ""
        self._ids: Counter[str] = Counter()
        self._labels: set[str] = set()
        self._controls: list[tuple[str, str]] = []
        self._nameless: list[str] = []
        self._open: list[list[str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Count a kind of element, and note what is missing from it."""
        values = {name: value or "" for name, value in attributes}
        classes = " ".join(sorted(name for name in values.get("class", "").split() if not OWN_NAMES.match(name)))
        above = self._open[-1][1] if self._open else ""
        kind = f"{tag}.{classes}[{values.get('type', '')}]"
        in_frame = kind in FRAME or any(one[1] in FRAME for one in self._open)
        kinds = self.kinds_in_frame if in_frame else self.kinds
        kinds.add((above, kind, *(name for name in ATTRIBUTES if name in values)))
        in_template = any(one[0] == "template" for one in self._open)
        if "id" in values and not in_template:
            self._ids[values["id"]] += 1
        if tag == "label":
            self._labels.add(values.get("for", ""))
        unseen = values.get("type") in ("hidden", "submit", "button")
        if tag in ("input", "select", "textarea") and not unseen and not in_template:
            in_label = any(one[0] == "label" for one in self._open)
            if not (in_label or values.get("aria-label") or values.get("aria-labelledby")):
                self._controls.append((values.get("id", ""), values.get("name", "")))
        if tag == "img" and "alt" not in values:
            self._nameless.append(f"img {values.get('src', '')}")
        if tag in EMPTY:
            self.handle_data(values.get("alt") or values.get("aria-label", ""))
        if tag not in EMPTY:
            self._open.append([tag, kind, values.get("aria-label", ""), values.get("href", "")])

    def handle_data(self, data: str) -> None:
        """Add the text to all elements that are open."""
        for one in self._open:
            one[2] += data.strip()

    def handle_endtag(self, tag: str) -> None:
        """Close the element, and those within it that have no end of their own."""
        while self._open:
            name, _kind, text, href = self._open.pop()
            if name == "title" and not any(one[0] == "svg" for one in self._open):
                self.title = text
            elif name == "h1":
                self.headings.append(text)
            elif name in ("button", "a", "th", "summary") and not text:
                self._nameless.append(f"{name} {href}".strip())
            if name == tag:
                break

    def faults(self) -> list[str]:
        """Return what every page must have and this one has not: a title, one heading, labels, names, distinct ids."""
        faults = [f"{count} elements have the id {name}" for name, count in self._ids.items() if count > 1]
        faults += [f"{name or key} has no label" for key, name in self._controls if not key or key not in self._labels]
        faults += [f"{what} says nothing" for what in self._nameless]
        if len(self.headings) != 1 or not self.headings[0]:
            faults.append(f"its h1 are {self.headings}")
        if not self.title.partition("|")[0].strip() or "None" in self.title:
            faults.append(f"its title is {self.title!r}")
        return faults


def covering_addresses(kinds_of: dict[str, set[tuple[str, ...]]]) -> list[str]:
    """Return addresses whose pages hold every kind of element that any of the pages holds."""
    missing, addresses = set().union(*kinds_of.values()), []
    while missing:
        best = max(kinds_of, key=lambda where: len(kinds_of[where] & missing))
        missing -= kinds_of[best]
        addresses.append(best)
    return addresses
