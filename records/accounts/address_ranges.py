"""The networks from which a credential is accepted: parsing them, and checking whether an address is in one of them."""

import ipaddress
from collections.abc import Iterable, Sequence

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from records.sites.text import fault_at

MOST_NETWORKS = 50
"""How many networks one credential may name."""


def parse(texts: Iterable[str]) -> list[str]:
    """Return the networks in normal form, such as "192.0.2.0/24"; a single address becomes a network of its own.

    Raises ValidationError for text that is not a network, for a network that contains every address (DECISIONS 9.6),
    and for more than 50 networks.
    """
    networks: dict[str, None] = {}
    for text in texts:
        try:
            network = ipaddress.ip_network(text.strip())
        except ValueError:
            raise _fault(
                gettext("“%(text)s” is not a network; write it like 192.0.2.0/24 or 2001:db8::/32.")
                % {"text": text[:50]}
            ) from None
        if network.prefixlen == 0:
            raise _fault(
                gettext("%(network)s contains every address; leave the field empty to accept any address.")
                % {"network": network}
            )
        networks[str(network)] = None
    if len(networks) > MOST_NETWORKS:
        raise _fault(gettext("A token can have at most %(most)s networks.") % {"most": MOST_NETWORKS})
    if _everything(networks):
        raise _fault(
            gettext("Together these networks contain every address; leave the field empty to accept any address.")
        )
    return list(networks)


def holds(networks: Sequence[str], address: str) -> bool:
    """Return whether one of the networks contains the address; an empty list contains every address.

    An IPv4 address that arrives as an IPv6 address (::ffff:192.0.2.1) is treated as the IPv4 address.
    """
    if not networks:
        return True
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return any(ip in ipaddress.ip_network(network) for network in networks)


def _everything(networks: Iterable[str]) -> bool:
    """Return whether the networks of one family together cover all addresses, as 0.0.0.0/1 and 128.0.0.0/1 do."""
    parsed_networks = [ipaddress.ip_network(network) for network in networks]
    v4 = [network for network in parsed_networks if isinstance(network, ipaddress.IPv4Network)]
    v6 = [network for network in parsed_networks if isinstance(network, ipaddress.IPv6Network)]
    ranges = [*map(str, ipaddress.collapse_addresses(v4)), *map(str, ipaddress.collapse_addresses(v6))]
    return any(network.endswith("/0") for network in ranges)


def _fault(text: str) -> ValidationError:
    return fault_at("addresses", text, "InvalidValue")
