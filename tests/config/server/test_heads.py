"""How strictly the head of a request is read, and what the application gets of it."""

import pytest
from gunicorn.http import errors

from config.server.heads import Head, environment_of

SHARED = environment_of(("192.0.2.7", 4711), ("192.0.2.1", 8000))
HOST = b"Host: larder.example"


def read(*lines: bytes) -> Head:
    """Read a head with these lines and a Host."""
    return read_exactly(*lines, HOST)


def read_exactly(*lines: bytes) -> Head:
    return Head(b"".join(b"%b\r\n" % line for line in (*lines, b"")), SHARED)


def test_the_application_gets_the_request_as_it_was_sent() -> None:
    head = read(
        b"GET /item/Get%C3%84?a=%20b&c=/?d#e HTTP/1.1",
        b"X-Two:a",
        b"x-two: \t b \t",
        b"Content-Type: application/json",
        b"X-Forwarded-For: 198.51.100.1",
        b"X_Forwarded_For: 203.0.113.1",
        b"X-Latin: \xe4",
    )
    expected = {
        "REQUEST_METHOD": "GET",
        "RAW_URI": "/item/Get%C3%84?a=%20b&c=/?d#e",
        "PATH_INFO": "/item/Get\u00c3\u0084",
        "QUERY_STRING": "a=%20b&c=/?d",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_NAME": "192.0.2.1",
        "SERVER_PORT": "8000",
        "REMOTE_ADDR": "192.0.2.7",
        "REMOTE_PORT": "4711",
        "SCRIPT_NAME": "",
        "CONTENT_TYPE": "application/json",
        "HTTP_HOST": "larder.example",
        "HTTP_X_TWO": "a,b",
        "HTTP_X_FORWARDED_FOR": "198.51.100.1",
        "HTTP_X_LATIN": "\u00e4",
        "wsgi.url_scheme": "http",
    }
    assert {name: head.environ[name] for name in expected} == expected
    assert "HTTP_X_TWO" not in SHARED
    assert not head.has_body


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        (b"http://larder.example/a?b", "/a", "b"),
        (b"HTTPS://larder.example?b", "/", "b"),
        (b"//a//b?c", "//a//b", "c"),
        (b"/a;b=c:80?d=http://e", "/a;b=c:80", "d=http://e"),
    ],
)
def test_every_form_of_address_is_split_into_path_and_query(target: bytes, path: str, query: str) -> None:
    head = read(b"GET %b HTTP/1.1" % target)
    assert (head.path, head.environ["QUERY_STRING"]) == (path, query)


def test_a_method_that_nobody_knows_is_left_to_the_address() -> None:
    assert [read(b"%b / HTTP/1.1" % method).method for method in (b"FOO", b"M-SEARCH", b"CONNECT")] == [
        "FOO",
        "M-SEARCH",
        "CONNECT",
    ]


def test_the_host_of_the_address_goes_before_the_header() -> None:
    head = read(b"GET http://evil.example/a HTTP/1.1")
    assert head.environ["HTTP_HOST"] == "evil.example"


def test_a_request_names_its_host_in_a_header_unless_it_is_older_than_the_header() -> None:
    for target in (b"/healthz", b"http://larder.example/healthz"):
        with pytest.raises(errors.InvalidHeader):
            read_exactly(b"GET %b HTTP/1.1" % target)
    assert "HTTP_HOST" not in read_exactly(b"GET /healthz HTTP/1.0").environ
    assert read_exactly(b"GET /healthz HTTP/1.1", b"Host:").environ["HTTP_HOST"] == ""


@pytest.mark.parametrize(
    ("lines", "keeps_alive"),
    [
        ([b"GET / HTTP/1.1"], True),
        ([b"GET / HTTP/1.1", b"Connection: close"], False),
        ([b"GET / HTTP/1.1", b"Connection: TE, Close"], False),
        ([b"GET / HTTP/1.0"], False),
        ([b"GET / HTTP/1.1", b"Upgrade: h2c", b"Connection: Upgrade"], True),
        ([b"GET / HTTP/1.0", b"Connection: Keep-Alive"], True),
    ],
)
def test_the_client_says_whether_its_connection_is_kept(lines: list[bytes], keeps_alive: bool) -> None:
    assert read(*lines).keeps_alive is keeps_alive


POST = b"POST /item/AddItem HTTP/1.1"


@pytest.mark.parametrize(
    "lines",
    [
        [b""],
        [b"get / HTTP/1.1"],
        [b"G / HTTP/1.1"],
        [b"GET  / HTTP/1.1"],
        [b"GET / HTTP/1.1 "],
        [b"GET / HTTP/2.0"],
        [b"GET / http/1.1"],
        [b"GET / RTSP/1.0"],
        [b"PRI * HTTP/2.0"],
        [b"GET /\x7f HTTP/1.1"],
        [b"GET /\xe4 HTTP/1.1"],
        [b"GET item HTTP/1.1"],
        [b"GET * HTTP/1.1"],
        [b"CONNECT larder.example:443 HTTP/1.1"],
        [b"GET http://[/ HTTP/1.1"],
        [b"GET http:///healthz HTTP/1.1"],
        [b"GET ftp://larder.example/healthz HTTP/1.1"],
        [b"GET / HTTP/1.1", b" folded: a"],
        [b"GET / HTTP/1.1", b"A: b", b"\tc"],
        [b"GET / HTTP/1.1", b"A : b"],
        [b"GET / HTTP/1.1", b": b"],
        [b"GET / HTTP/1.1", b"A(: b"],
        [b"GET / HTTP/1.1", b"A: b\nC: d"],
        [b"GET / HTTP/1.1", b"A: b\rC: d"],
        [b"GET / HTTP/1.1", b"A: b\x00"],
        [b"GET / HTTP/1.1\nA: b"],
        [b"GET / HTTP/1.1", HOST],
        [POST, b"Content-Type: a/b", b"Content-Type: a/b"],
        [POST, b"Content-Length: 1", b"Content-Length: 1"],
        [POST, b"Content-Length: 1, 1"],
        [POST, b"Content-Length: +1"],
        [POST, b"Content-Length: -1"],
        [POST, b"Content-Length: 0x1"],
        [POST, b"Content-Length: \xb2"],
        [POST, b"Content-Length:"],
        [POST, b"Content-Length: 1", b"Transfer-Encoding: chunked"],
        [POST, b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"],
        [POST, b"Transfer-Encoding: chunked, chunked"],
        [POST, b"Transfer-Encoding: chunked, identity"],
        [POST, b"Transfer-Encoding:"],
        [b"POST / HTTP/1.0", b"Transfer-Encoding: chunked"],
    ],
)
def test_what_two_servers_could_read_differently_is_refused(lines: list[bytes]) -> None:
    with pytest.raises(errors.ParseException):
        read(*lines)


def test_a_long_line_of_blanks_is_read_in_no_time() -> None:
    assert read(b"GET / HTTP/1.1", b"A:" + b" " * 16_000).environ["HTTP_A"] == ""
    with pytest.raises(errors.ParseException):
        read(b"GET / HTTP/1.1", b"A:" + b" " * 16_000 + b"\x00")


def test_a_length_may_begin_with_any_number_of_zeros() -> None:
    assert read(POST, b"Content-Length: " + b"0" * 5_000 + b"1").length == 1
    assert read(POST, b"Content-Length: 00").length == 0


def test_a_connection_over_a_socket_file_has_no_address() -> None:
    shared = environment_of(b"", "/run/larder.sock")
    assert (shared["REMOTE_ADDR"], shared["SERVER_NAME"], shared["SERVER_PORT"]) == ("", "localhost", "80")
