"""A browser of a person who is signed in to the back-office of a running server."""

import uuid
from collections.abc import Mapping
from http.cookies import SimpleCookie
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

from tests.faults.processes import Answer, Server
from tests.make.backoffice import form_of
from tests.make.signing_in import LOGIN

FORM = "application/x-www-form-urlencoded"


class Browser:
    """Keeps the cookies of one person, and sends forms as they were shown."""

    def __init__(self, server: Server, person: Mapping[str, str]) -> None:
        self.server = server
        self.cookies: dict[str, str] = {}
        fields = self.form(LOGIN) | {"username": person["username"], "password": person["password"]}
        assert self.post(LOGIN, fields).status == 302

    def get(self, path: str) -> Answer:
        """Open a page."""
        return self._with_cookies(self.server.get(path, self._headers()))

    def form(self, path: str) -> dict[str, Any]:
        """Open a page and return the fields of its form."""
        return fields_of(self.get(path))

    def post(self, path: str, fields: Mapping[str, Any]) -> Answer:
        """Send a form."""
        return self.send(path, urlencode(fields, doseq=True).encode(), FORM)

    def post_file(self, path: str, fields: Mapping[str, Any], name: str, content: bytes) -> Answer:
        """Send a form with a file."""
        line = f"--{uuid.uuid4().hex}"
        parts = [f'{line}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{fields[key]}\r\n' for key in fields]
        head = f'{line}\r\nContent-Disposition: form-data; name="{name}"; filename="file.csv"\r\n\r\n'
        body = "".join([*parts, head]).encode() + content + f"\r\n{line}--\r\n".encode()
        return self.send(path, body, f"multipart/form-data; boundary={line[2:]}")

    def send(self, path: str, body: bytes, content_type: str) -> Answer:
        """Send a body."""
        headers = {"Content-Type": content_type, **self._headers()}
        return self._with_cookies(self.server.send("POST", path, body, headers))

    def _headers(self) -> dict[str, str]:
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}

    def _with_cookies(self, answer: Answer) -> Answer:
        headers: Any = answer.headers
        for line in headers.get_all("Set-Cookie", []) if answer.status else []:
            self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        return answer


def fields_of(answer: Answer) -> dict[str, Any]:
    """Return the fields of the largest form of a page, each with its only value where it has one."""
    assert answer.status == 200, answer.body[:200]
    form = form_of(SimpleNamespace(content=answer.body))
    return {name: values[0] if len(values) == 1 else values for name, values in form.items()}
