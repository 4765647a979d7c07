"""How the server reads requests, and what it answers to bytes that are not one."""

import json
import logging
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from config.server import refusals
from config.server.connection import Connection
from config.server.incoming import BodyTooLargeError
from config.server.limits import PAGE_LIMIT, largest_body

PEER = ("127.0.0.1", 1)
CHUNKED_HEAD = b"POST /item/AddItem HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, Connection]]:
    """Return a client's socket and the connection that the server has with it."""
    client, server = socket.socketpair()
    connection = Connection(server, PEER, PEER)
    with client:
        yield client, connection
        connection.close()


def send(pair: tuple[socket.socket, Connection], data: bytes) -> bool:
    client, connection = pair
    client.sendall(data)
    connection.receive()
    while not (complete := connection.is_complete()) and connection.body is not None and connection.body.is_paused:
        pass
    return complete


def refusal_to(pair: tuple[socket.socket, Connection], data: bytes) -> tuple[int, dict[str, str], Any]:
    """Return status, headers and body of what is answered to bytes that are refused."""
    with pytest.raises(Exception) as error:  # noqa: PT011 (each refusal has an exception of its own)
        send(pair, data)
    answer = refusals.answer(pair[1].path, refusals.refusal_of(error.value))
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    assert int(headers["Content-Length"]) == len(body)
    return int(first.split()[1]), headers, json.loads(body)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /scim/Users?filter=" + b"x" * 9_000, 414),
        (b"GET /scim/Users HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", 431),
        (b"GET /prodscim/Users HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400),
        (b"GET /scim/Users HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\n\r\n", 417),
    ],
)
def test_what_is_refused_on_a_mount_of_provisioning_is_an_error_of_scim(pair: Any, data: bytes, status: int) -> None:
    actual_status, headers, shape = refusal_to(pair, data)
    assert (actual_status, shape["status"], headers["Content-Type"]) == (status, str(status), "application/scim+json")


@pytest.mark.parametrize(
    ("data", "status", "code"),
    [
        (b"GARBAGE\r\n\r\n", 400, "MalformedRequest"),
        (b"GET /item/GetItemList HTTP/7.5\r\n\r\n", 400, "MalformedRequest"),
        (b"GET /item/GetItemList HTTP/1.1\r\nHost: a\r\nHost : a\r\n\r\n", 400, "MalformedRequest"),
        (b"GET /item/GetItemList HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400, "MalformedRequest"),
        (b"POST /item/AddItem HTTP/1.1\r\nHost: a\r\nContent-Length: abc\r\n\r\n", 400, "MalformedRequest"),
        (
            b"POST /item/AddItem HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            400,
            "MalformedRequest",
        ),
        (
            b"POST /item/AddItem HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            400,
            "MalformedRequest",
        ),
        (
            b"POST /item/AddItem HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
            400,
            "MalformedRequest",
        ),
        (CHUNKED_HEAD + b"1;\n\r\nx\r\n", 400, "MalformedRequest"),
        (CHUNKED_HEAD + b"1;a=b\rc\r\nx\r\n", 400, "MalformedRequest"),
        (CHUNKED_HEAD + b" 1\r\nx\r\n", 400, "MalformedRequest"),
        (CHUNKED_HEAD + b"0\r\nA: b\n\r\n", 400, "MalformedRequest"),
        (CHUNKED_HEAD + b"1\r\nx\r\n" * 20_000, 400, "MalformedRequest"),
        (CHUNKED_HEAD + (b"1;a=" + b"b" * 4_000 + b"\r\nx\r\n") * 5, 400, "MalformedRequest"),
        (CHUNKED_HEAD + b"0\r\n" + b"Trailer: x\r\n" * 1_500, 400, "MalformedRequest"),
        (b"GET /item/GetItemList?search=" + b"x" * 9_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414, "UriTooLong"),
        (b"GET /item/GetItemList?search=" + b"x" * 9_000, 414, "UriTooLong"),
        (b"GET /item/GetItemList HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", 431, "HeadersTooLarge"),
        (b"GET /item/GetItemList HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 140_000, 431, "HeadersTooLarge"),
        (b"GET /item/GetItemList HTTP/1.1\r\nHost: a\r\n" + b"X: x\r\n" * 101 + b"\r\n", 431, "HeadersTooLarge"),
        (b"POST /item/AddItem HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: wave\r\n\r\n", 400, "MalformedRequest"),
        (b"POST /item/AddItem HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501, "NotImplemented"),
        (
            b"POST /item/AddItem HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\nContent-Length: 2\r\n\r\n{}",
            417,
            "ExpectationFailed",
        ),
        (b"POST /item/AddItem HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000000\r\n\r\n", 413, "PayloadTooLarge"),
        (
            b"POST /item/AddItem HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 524288000\r\n\r\n",
            413,
            "PayloadTooLarge",
        ),
        (
            b"POST /item/AddItem HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n",
            413,
            "PayloadTooLarge",
        ),
    ],
)
def test_what_is_not_a_request_is_refused_in_the_interface_s_error_shape(
    pair: Any, data: bytes, status: int, code: str
) -> None:
    actual_status, headers, shape = refusal_to(pair, data)
    assert (actual_status, shape["Error"], shape["Id"], shape["Fields"]) == (status, code, "", [])
    assert headers["Content-Type"] == "application/json"
    assert headers["X-Api-Version"] == "1"
    assert headers["X-Request-Id"] == shape["RequestId"]


@pytest.mark.parametrize(
    ("languages", "title"),
    [("", "A file may have 25 MiB at most"), ("de-AT,de;q=0.9", "Eine Datei darf höchstens 25 MiB haben")],
)
def test_what_is_refused_of_a_page_is_a_page_in_the_language_of_the_browser(
    pair: Any, languages: str, title: str
) -> None:
    first = b"POST /admin/items/item/add/ HTTP/1.1\r\nHost: a\r\n"
    with pytest.raises(BodyTooLargeError) as error:
        send(pair, first + b"Accept-Language: %b\r\nContent-Length: 9000000\r\n\r\n" % languages.encode())
    answer = refusals.answer(pair[1].path, refusals.refusal_of(error.value), pair[1].languages).decode()
    assert answer.startswith("HTTP/1.1 413 ")
    assert "Content-Type: text/html" in answer
    assert "style-src 'self'" in answer
    assert title in answer
    assert "The body is larger than 2.5 MiB." in answer
    assert 'href="/admin/"' in answer


def test_a_credential_in_a_faulty_header_is_not_logged(pair: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        refusal_to(pair, b"GET /item/GetItemList HTTP/1.1\r\nHost: a\r\nOcp-Apim-Subscription-Key : lk_secret\r\n\r\n")
    assert "refused" in caplog.text
    assert not any("lk_secret" in str(vars(record)) for record in caplog.records)


def test_a_request_that_arrives_byte_by_byte_is_complete_at_its_last_byte(pair: Any) -> None:
    data = b"\r\nPOST /item/AddItem HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
    results = [send(pair, data[place : place + 1]) for place in range(len(data))]
    assert results == [False] * (len(data) - 1) + [True]
    assert pair[1].body.rewind().read() == b"abc"


def test_chunks_are_put_together_whatever_the_pieces_in_which_they_arrive(pair: Any) -> None:
    data = (
        b"POST /item/AddItem HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
    )
    results = [send(pair, data[place : place + 1]) for place in range(len(data))]
    assert results == [False] * (len(data) - 1) + [True]
    assert pair[1].body.rewind().read() == b"abc0123456789"


def test_a_body_in_small_chunks_is_taken(pair: Any) -> None:
    assert send(pair, CHUNKED_HEAD + b"2\r\nxy\r\n" * 20_000 + b"0\r\n\r\n")
    assert pair[1].body.rewind().read() == b"xy" * 20_000


def test_a_second_request_sent_along_with_the_first_is_read_after_it(pair: Any) -> None:
    assert send(pair, b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxyGET /b HTTP/1.1\r\nHost: a\r\n\r\n")
    assert pair[1].path == "/a"
    pair[1].next_request(75)
    assert pair[1].is_complete()
    assert pair[1].path == "/b"


def test_a_client_that_asks_before_it_sends_is_told_to_go_on_once(pair: Any) -> None:
    assert not send(
        pair, b"POST /item/AddItem HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    )
    assert send(pair, b"{}")
    assert pair[0].recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"


def test_a_large_body_goes_to_a_file_instead_of_memory(pair: Any) -> None:
    size = 300_000
    done = send(pair, b"POST /item/AddItem HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size)
    for _ in range(0, size, 30_000):
        done = send(pair, b"x" * 30_000)
    assert done
    assert pair[1].body.file._rolled
    assert len(pair[1].body.rewind().read()) == size


MULTIPART = {"CONTENT_TYPE": "multipart/form-data; boundary=x"}
SESSION = {"HTTP_COOKIE": "csrftoken=a; sessionid=b"}


@pytest.mark.parametrize(
    ("path", "environ", "limit"),
    [
        ("/admin/login/", MULTIPART | SESSION, PAGE_LIMIT),
        ("/accounts/password/", MULTIPART | SESSION, PAGE_LIMIT),
        ("/admin/items/item/add/", SESSION, PAGE_LIMIT),
        ("/admin/documents/document/add/", MULTIPART, PAGE_LIMIT),
        ("/admin/documents/document/add/", MULTIPART | SESSION, 26 * 1024 * 1024),
        ("/admin/attachments/on/Complaint/1/", MULTIPART, PAGE_LIMIT),
        ("/admin/attachments/on/Complaint/1/", MULTIPART | SESSION, 101 * 1024 * 1024),
        ("/admin/complaints/complaint/quick/", MULTIPART | SESSION, 101 * 1024 * 1024),
        ("/document/AddDocument", {}, 25 * 1024 * 1024 * 3 // 2 + 1024 * 1024),
        ("/item/AddItem", {}, 16 * 1024 * 1024),
        ("/unknown", {}, 16 * 1024 * 1024),
    ],
)
def test_a_path_takes_bodies_up_to_its_limit(path: str, environ: Any, limit: int, settings: Any) -> None:
    environ = {name: value.replace("sessionid", settings.SESSION_COOKIE_NAME) for name, value in environ.items()}
    assert largest_body(path, environ) == limit
