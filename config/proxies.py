"""Who sends a request: the peer, or the client that a trusted proxy reports."""

import ipaddress
import logging
from collections.abc import Callable
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

logger = logging.getLogger("larder.settings")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class TrustedProxyMiddleware:
    """Sets REMOTE_ADDR and the scheme from X-Forwarded-… if TRUSTED_PROXIES contains the peer.

    All other code reads REMOTE_ADDR, so that a header from the caller cannot circumvent a limit or a lock.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request after setting its real sender."""
        name_sender(request.META)
        return self.get_response(request)


def name_sender(environ: dict[str, Any]) -> None:
    """Set REMOTE_ADDR and the scheme to what a trusted proxy reports; change nothing if the peer is not one."""
    if not settings.TRUSTED_PROXIES:
        if "HTTP_X_FORWARDED_FOR" in environ:
            _warn_about_proxy()
        return
    if _is_trusted(_address(environ.get("REMOTE_ADDR", ""))):
        environ["REMOTE_ADDR"] = reported_sender(environ["REMOTE_ADDR"], environ.get("HTTP_X_FORWARDED_FOR", ""))
        if environ.get("HTTP_X_FORWARDED_PROTO", "").strip().lower() == "https":
            environ["wsgi.url_scheme"] = "https"


@cache
def _warn_about_proxy() -> None:
    """Warn, once per process, that a peer that TRUSTED_PROXIES does not contain forwards requests."""
    logger.warning(
        "A request has X-Forwarded-For, but TRUSTED_PROXIES is empty, so all callers behind a proxy share their limits "
        "and locks. Name the proxy in TRUSTED_PROXIES."
    )


def reported_sender(peer: str, forwarded_for: str) -> str:
    """Return the rightmost address in X-Forwarded-For that is not a trusted proxy's.

    Each proxy appends the peer that it saw, so only the right end was written by proxies that we trust. Everything to
    the left of an untrusted or unreadable entry may be invented by the caller.
    """
    sender = peer
    for entry in reversed(forwarded_for.split(",")):
        address = _address(entry.strip())
        if address is None:
            return sender
        sender = str(address)
        if not _is_trusted(address):
            return sender
    return sender


def _is_trusted(address: Address | None) -> bool:
    return address is not None and any(address in network for network in settings.TRUSTED_PROXIES)


def _address(text: str) -> Address | None:
    """Return the address in `203.0.113.7`, `203.0.113.7:4711`, `2001:db8::1` or `[2001:db8::1]:4711`."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    # A dual-stack socket shows IPv4 peers as ::ffff:203.0.113.7.
    return getattr(address, "ipv4_mapped", None) or address
