"""Addresses that are not operations take their own methods and refuse others in the interface's shape."""

from io import BytesIO
from typing import Any

import pytest
from django.test import Client

from tests.interface.test_doors import is_error
from tests.make.oauth import post_form

HEALTH = ("/healthz", "/readyz")


@pytest.mark.parametrize("path", HEALTH)
def test_health_is_read_and_nothing_else(path: str, db: None) -> None:
    client: Any = Client(enforce_csrf_checks=True)
    assert client.get(path).status_code == 200
    assert (client.head(path).status_code, client.head(path).content) == (200, b"")
    for method in ("post", "put", "patch", "delete"):
        answer = getattr(client, method)(path)
        assert is_error(answer, 405, "MethodNotAllowed"), method
        assert answer.headers["Allow"] == "GET, HEAD, OPTIONS"


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        *((path, "GET, HEAD, OPTIONS") for path in (*HEALTH, "/.well-known/oauth-authorization-server")),
        ("/oauth/token", "POST, OPTIONS"),
        ("/oauth/revoke", "POST, OPTIONS"),
    ],
)
def test_options_says_what_a_path_takes(path: str, methods: str, db: None) -> None:
    answer: Any = Client(enforce_csrf_checks=True).options(path)
    assert (answer.status_code, answer.content, answer.headers["Allow"]) == (204, b"", methods)


def test_a_refused_method_is_refused_without_asking_for_a_form(db: None) -> None:
    answer: Any = Client(enforce_csrf_checks=True).post("/.well-known/oauth-authorization-server")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")


def test_the_size_that_a_token_request_may_have_is_named(db: None) -> None:
    answer = post_form("/oauth/token", {"grant_type": "x" * 70_000})
    assert answer.status_code == 413
    assert "larger than 64 KiB" in answer.json()["error_description"]


class ChunkError(Exception):
    """What a server raises; none of the exceptions that Python knows."""


class BrokenChunks(BytesIO):
    """A body whose chunks cannot be read, as the server tells the application."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Raise what servers raise for a chunk without a size."""
        raise ChunkError


def test_a_chunked_body_that_is_too_large_is_read_to_its_end_before_it_is_refused(api: Any) -> None:
    body = BytesIO(b" " * (20 * 1024 * 1024))
    environ: dict[str, Any] = {"wsgi.input": body, "CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}
    answer = Client().generic("POST", "/item/AddItem", headers=api.headers, **environ)
    assert is_error(answer, 413, "PayloadTooLarge")
    assert body.read() == b""


def test_chunks_that_are_none_are_a_fault_of_the_request(api: Any) -> None:
    environ: dict[str, Any] = {
        "wsgi.input": BrokenChunks(),
        "CONTENT_LENGTH": "",
        "HTTP_TRANSFER_ENCODING": "chunked",
    }
    answer = Client().generic("POST", "/item/AddItem", headers=api.headers, **environ)
    assert is_error(answer, 400, "MalformedJson")
