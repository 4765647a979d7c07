"""What the server answers to bytes that are no request."""

import json
import logging
import socket

import pytest
from gunicorn.config import Config
from gunicorn.http.parser import RequestParser

from config import gunicorn as settings
from config.worker import Worker


def answer_to(sent: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of what a worker answers to bytes that its parser refuses."""
    config = Config()
    for name in ("limit_request_line", "limit_request_fields", "limit_request_field_size"):
        config.set(name, getattr(settings, name))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5)
        theirs.settimeout(5)
        ours.sendall(sent)
        ours.shutdown(socket.SHUT_WR)
        worker = Worker.__new__(Worker)
        with pytest.raises(Exception) as refused:  # noqa: PT011 (each refusal has an exception of its own)
            next(RequestParser(config, theirs, ("127.0.0.1", 1)))
        worker.handle_error(None, theirs, ("127.0.0.1", 1), refused.value)
        received = b"".join(iter(lambda: ours.recv(65_536), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    return int(first.split()[1]), dict(line.split(": ", 1) for line in lines), body


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"GARBAGE\r\n\r\n", 400, "MalformedRequest"),
        (b"GET /item/GetItemList HTTP/7.5\r\n\r\n", 400, "MalformedRequest"),
        (b"GET /item/GetItemList HTTP/1.1\r\nHost : a\r\n\r\n", 400, "MalformedRequest"),
        (b"GET /item/GetItemList HTTP/1.1\r\nno colon\r\n\r\n", 400, "MalformedRequest"),
        (b"POST /item/AddItem HTTP/1.1\r\nContent-Length: abc\r\n\r\n", 400, "MalformedRequest"),
        (b"POST /item/AddItem HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "MalformedRequest"),
        (b"GET /item/GetItemList?search=" + b"x" * 9_000 + b" HTTP/1.1\r\n\r\n", 414, "UriTooLong"),
        (b"GET /item/GetItemList HTTP/1.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", 431, "HeadersTooLarge"),
        (b"GET /item/GetItemList HTTP/1.1\r\n" + b"X: x\r\n" * 101 + b"\r\n", 431, "HeadersTooLarge"),
        (b"POST /item/AddItem HTTP/1.1\r\nTransfer-Encoding: wave\r\n\r\n", 501, "NotImplemented"),
        (b"POST /item/AddItem HTTP/1.1\r\nExpect: wonders\r\nContent-Length: 2\r\n\r\n{}", 417, "ExpectationFailed"),
    ],
)
def test_what_is_no_request_is_refused_in_the_interface_s_error_shape(sent: bytes, status: int, code: str) -> None:
    found, headers, body = answer_to(sent)
    shape = json.loads(body)
    assert (found, shape["Error"], shape["Id"], shape["Fields"]) == (status, code, "", [])
    assert headers["Content-Type"] == "application/json"
    assert headers["X-Api-Version"] == "1"
    assert headers["X-Request-Id"] == shape["RequestId"]
    assert int(headers["Content-Length"]) == len(body)


def test_a_credential_in_a_faulty_header_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        answer_to(b"GET /item/GetItemList HTTP/1.1\r\nOcp-Apim-Subscription-Key : lk_secret\r\n\r\n")
    assert "unreadable" in caplog.text
    assert not any("lk_secret" in str(vars(record)) for record in caplog.records)
