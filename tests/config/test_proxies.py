"""Whose address a request is counted for."""

import ipaddress

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from config import proxies
from config.proxies import TrustedProxyMiddleware


def sender(settings, peer, forwarded_for="", proto="", proxies=("10.0.0.0/8", "2001:db8::/32")):
    """Return the address and the scheme that the rest of the product sees."""
    settings.TRUSTED_PROXIES = [ipaddress.ip_network(proxy) for proxy in proxies]
    result = {}

    def answer(request):
        result.update(address=request.META["REMOTE_ADDR"], scheme=request.scheme)
        return HttpResponse()

    all_headers = {"HTTP_X_FORWARDED_FOR": forwarded_for, "HTTP_X_FORWARDED_PROTO": proto}
    headers = {name: value for name, value in all_headers.items() if value}
    TrustedProxyMiddleware(answer)(RequestFactory().get("/", REMOTE_ADDR=peer, **headers))
    return result["address"], result["scheme"]


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "expected"),
    [
        ("203.0.113.7", "198.51.100.1", "203.0.113.7"),
        ("10.0.0.5", "", "10.0.0.5"),
        ("10.0.0.5", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.5", "invented, 198.51.100.1", "198.51.100.1"),
        ("10.0.0.5", "192.0.2.9, 198.51.100.1, 10.0.0.9", "198.51.100.1"),
        ("10.0.0.5", "198.51.100.1, nonsense", "10.0.0.5"),
        ("10.0.0.5", "198.51.100.1:4711", "198.51.100.1"),
        ("10.0.0.5", "[2001:db9::1]:4711", "2001:db9::1"),
        ("::ffff:10.0.0.5", "198.51.100.1", "198.51.100.1"),
        ("2001:db8::5", "2001:db9::1", "2001:db9::1"),
        ("", "198.51.100.1", ""),
    ],
)
def test_only_what_a_trusted_proxy_saw_is_believed(settings, peer, forwarded_for, expected):
    assert sender(settings, peer, forwarded_for)[0] == expected


def test_only_a_trusted_proxy_may_say_that_the_caller_came_by_https(settings):
    assert sender(settings, "10.0.0.5", proto="https")[1] == "https"
    assert sender(settings, "203.0.113.7", proto="https")[1] == "http"


def test_without_a_named_proxy_no_header_is_read_and_the_log_says_so_once(settings, caplog):
    proxies._warn_about_proxy.cache_clear()
    assert sender(settings, "10.0.0.5", proxies=()) == ("10.0.0.5", "http")
    assert sender(settings, "10.0.0.5", "198.51.100.1", "https", proxies=()) == ("10.0.0.5", "http")
    assert sender(settings, "10.0.0.5", "198.51.100.2", proxies=()) == ("10.0.0.5", "http")
    (line,) = [record.getMessage() for record in caplog.records if record.name == "larder.settings"]
    assert "Name the proxy in TRUSTED_PROXIES." in line
