"""The networks from which a credential is accepted: reading them from text, and asking whether one holds an address."""

import ipaddress
from collections.abc import Iterable, Sequence

from django.core.exceptions import ValidationError

MOST = 50
"""How many networks one credential may name."""


def parse(texts: Iterable[str]) -> list[str]:
    """Return the networks in their usual form, such as "192.0.2.0/24"; one address is a network of its own.

    Raises ValidationError for a text that is not a network, for a network that holds every address (DECISIONS 9.6), and
    for more than 50.
    """
    found: dict[str, None] = {}
    for text in texts:
        try:
            network = ipaddress.ip_network(text.strip())
        except ValueError:
            raise _fault(f"“{text[:50]}” is not a network; write it like 192.0.2.0/24 or 2001:db8::/32.") from None
        if network.prefixlen == 0:
            raise _fault(f"{network} holds every address; leave the field empty to accept any address.")
        found[str(network)] = None
    if len(found) > MOST:
        raise _fault(f"A token may name {MOST} networks at most.")
    if _everything(found):
        raise _fault("Together these networks hold every address; leave the field empty to accept any address.")
    return list(found)


def holds(networks: Sequence[str], address: str) -> bool:
    """Return whether one of the networks holds the address; no networks at all hold every address.

    An IPv4 address that arrives as an IPv6 one (::ffff:192.0.2.1) is the IPv4 address.
    """
    if not networks:
        return True
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return any(parsed in ipaddress.ip_network(network) for network in networks)


def _everything(networks: Iterable[str]) -> bool:
    """Return whether the networks of one family add up to all of its addresses, as 0.0.0.0/1 and 128.0.0.0/1 do."""
    parsed = [ipaddress.ip_network(network) for network in networks]
    v4 = [network for network in parsed if isinstance(network, ipaddress.IPv4Network)]
    v6 = [network for network in parsed if isinstance(network, ipaddress.IPv6Network)]
    joined = [*map(str, ipaddress.collapse_addresses(v4)), *map(str, ipaddress.collapse_addresses(v6))]
    return any(network.endswith("/0") for network in joined)


def _fault(text: str) -> ValidationError:
    return ValidationError({"addresses": ValidationError(text, code="InvalidValue")})
