"""Plain functions that open back-office pages in tests as a browser would."""

import html.parser
from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest
from django.test import Client
from django.urls import reverse

from records.accounts.models import DefaultRole, User
from records.backoffice.current import SESSION_KEY
from records.sites.models import Site
from tests import make


def sign_in(user: User, site: Site | None = None) -> Client:
    """Return a browser in which the user is signed in, looking at the site where one is named.

    The session is written as signing in and choosing the site leave it, which takes a third of the time of both.
    """
    request, client = HttpRequest(), Client()
    request.session = SessionStore()
    if site is not None:
        request.session[SESSION_KEY] = str(site.pk)
    login(request, user, backend="records.accounts.sign_in.AccountBackend")
    request.session.save()
    client.cookies[settings.SESSION_COOKIE_NAME] = request.session.session_key or ""
    return client


def browser(site: Site, role: DefaultRole = DefaultRole.MANAGER, user: User | None = None) -> Client:
    """Return a browser of somebody with the role at the site."""
    return sign_in(user or make.make_user(site=site, role=role), site)


class _Inputs(html.parser.HTMLParser):
    """Collects what a browser would send for a page's longest form."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[dict[str, list[str]]] = []
        self.select: tuple[str, bool] | None = None
        self.textarea: str | None = None

    @property
    def data(self) -> dict[str, list[str]]:
        return self.forms[-1] if self.forms else {}

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        values = dict(attributes)
        name = values.get("name", "")
        if tag == "form":
            self.forms.append({})
        elif tag == "input" and name and values.get("type") not in ("submit", "button", "file", "image"):
            if values.get("type") in ("checkbox", "radio") and "checked" not in values:
                return
            value = values.get("value") or ("on" if values.get("type") == "checkbox" else "")
            # Browsers drop the line ends of a line of text.
            self.data.setdefault(name, []).append(
                value if values.get("type") == "hidden" else "".join(value.split("\n"))
            )
        elif tag == "select" and name:
            self.select = (name, "multiple" in values)
        elif tag == "option" and self.select and "selected" in values:
            self.data.setdefault(self.select[0], []).append(values.get("value") or "")
        elif tag == "textarea" and name:
            self.textarea = name
            self.data[name] = [""]

    def handle_data(self, data: str) -> None:
        if self.textarea:
            self.data[self.textarea][0] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self.select = None
        elif tag == "textarea" and self.textarea:
            value = self.data[self.textarea][0]
            value = value.removeprefix("\r\n").removeprefix("\n")
            # Browsers send every line end of a textarea as \r\n.
            self.data[self.textarea] = [value.replace("\r\n", "\n").replace("\n", "\r\n")]
            self.textarea = None


def form_of(response: Any) -> dict[str, Any]:
    """Return what a browser would send when the page's main form is submitted untouched."""
    parser = _Inputs()
    parser.feed(response.content.decode())
    return max(parser.forms, key=len, default={})


def address(record: Any, page: str = "change") -> str:
    """Return the address of one of the record's pages."""
    return reverse(f"admin:{record._meta.app_label}_{record._meta.model_name}_{page}", args=(record.pk,))


def press(client: Client, place: str, data: dict[str, Any] | None = None, **options: Any) -> Any:
    """Open the page of a step and send its form with what was typed."""
    page = client.get(place)
    seen = page.context["seen"] if page.status_code == 200 else ""
    return client.post(place, {"larder_seen": seen, **(data or {})}, **options)


def list_address(model: Any) -> str:
    """Return the address of the model's list."""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def make_superuser() -> User:
    """Add a superuser's account."""
    return make.make_user("root", is_superuser=True)


def save(client: Client, record: Any, **changes: Any) -> Any:
    """Send the record's form as it was shown, with these changes."""
    data = form_of(client.get(address(record)))
    return client.post(address(record), {**data, **changes})
