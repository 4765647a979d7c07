"""Which addresses a webhook may have: https, and no machine in our own network.

Otherwise anybody who may edit a webhook could let the worker call machines that only the worker can reach. A host name
is resolved once for each connection, and the connection is made to exactly the network address that was checked.
"""

import ipaddress
import queue
import re
import threading
from socket import EAI_AGAIN, SOCK_STREAM, gaierror, getaddrinfo
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from records.sites.text import fault_at

RESOLVE_SECONDS = 5.0
_PLAIN = re.compile(r"[!-~]+")
_REFUSED_NETWORKS = [
    ipaddress.ip_network(text)
    # The ipaddress module counts these as public: Azure's metadata, old forms of IPv6 that contain an IPv4 address, and
    # the translation of IPv4 addresses by a network for itself, which hides them anywhere in the address (RFC 8215).
    for text in ("168.63.129.16/32", "::/8", "fec0::/10", "64:ff9b:1::/48")
]
_NAT64 = [ipaddress.ip_network("64:ff9b::/96")]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class RefusedError(Exception):
    """Raised if a connection is not allowed, with a sentence for people."""


def checked_parts(address: str) -> SplitResult:
    """Return the parts of an address without resolving its name; raises ValidationError if no webhook may have it."""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise _fault(gettext("This is not an address that can be called.")) from None
    if not _PLAIN.fullmatch(address) or not host:
        raise _fault(gettext("Enter a whole address, such as https://warehouse.example.com/larder, without blanks."))
    if parts.scheme not in (("https", "http") if settings.WEBHOOK_ALLOW_PRIVATE else ("https",)):
        raise _fault(gettext("The address must start with https://, so that nobody else can read what is sent."))
    if "@" in parts.netloc:
        raise _fault(gettext("The address must not contain a user name or a password: messages are signed instead."))
    if parts.fragment or "#" in address:
        raise _fault(gettext("The address must not have a part after #."))
    try:
        _refuse_private(str(ipaddress.ip_address(host.strip("[]"))))
    except ValueError:
        pass  # It is a name.
    except RefusedError as refusal:
        raise _fault(str(refusal)) from None
    return parts


def check_name(address: str) -> None:
    """Raise ValidationError if the address's host name now leads to a machine in our own network.

    A name that cannot be resolved now is accepted, because each delivery checks it again.
    """
    parts = checked_parts(address)
    try:
        resolve(parts)
    except RefusedError as refusal:
        raise _fault(str(refusal)) from None
    except OSError:
        return


def resolve(parts: SplitResult) -> list[str]:
    """Return the network addresses of the host, which are looked up once; raises RefusedError and OSError.

    The system's resolver has no time limit, so it runs in a thread that is abandoned after 5 seconds.
    """
    answers: queue.SimpleQueue[list[str] | Exception] = queue.SimpleQueue()
    threading.Thread(target=_ask, args=(parts, answers), name="resolver", daemon=True).start()
    try:
        addresses = answers.get(timeout=RESOLVE_SECONDS)
    except queue.Empty:
        raise gaierror(EAI_AGAIN, "The name was not resolved in time.") from None
    if isinstance(addresses, UnicodeError):
        raise OSError("The name is not a host name.") from None
    if isinstance(addresses, Exception):
        raise addresses
    for one in addresses:
        _refuse_private(one)
    return addresses


def _ask(parts: SplitResult, answers: "queue.SimpleQueue[list[str] | Exception]") -> None:
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        entries = getaddrinfo(parts.hostname, port, type=SOCK_STREAM)
        answers.put(list(dict.fromkeys(str(entry[4][0]) for entry in entries)))
    except (OSError, UnicodeError) as error:
        answers.put(error)


def _refuse_private(text: str) -> None:
    if not settings.WEBHOOK_ALLOW_PRIVATE and not is_public(text):
        raise RefusedError("The address leads to a private network, to this machine, or to another that is not public.")


def is_public(text: str) -> bool:
    """Return whether a network address, and any IPv4 address that it contains, belongs to the public internet."""
    try:
        address: Address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return all(
        candidate.is_global
        and not candidate.is_multicast
        and not candidate.is_reserved
        and not _is_in(candidate, _REFUSED_NETWORKS)
        for candidate in (_inside(address) or (address,))
    )


def _inside(address: Address) -> tuple[Address, ...]:
    """Return the IPv4 addresses that an IPv6 address contains, if there are any."""
    if isinstance(address, ipaddress.IPv4Address):
        return ()
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if _is_in(address, _NAT64):
        return (ipaddress.IPv4Address(int(address) & 0xFFFFFFFF),)
    return ()


def _is_in(address: Address, networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    return any(address in network for network in networks)


def _fault(text: str) -> ValidationError:
    return fault_at("address", text, "InvalidValue")
