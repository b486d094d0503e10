"""The address guard: which IP addresses the gateway may connect to. Pure.

It is asked when a socket is made, with the address that the name resolved to at that moment, so a name that
resolves to something else the second time gets nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from plays.gateway.configuration import Network

Address = IPv4Address | IPv6Address

NAT64 = IPv6Network("64:ff9b::/96")
"""Addresses that a translator turns into the IPv4 address of their last four bytes."""


class AddressRefused(OSError):
    """The address belongs to a network that providers are not in.

    Its sentence names no address, so that several refusals of one name are one to who connects.
    """


def check(host: str, allowed: Sequence[Network]) -> None:
    """Raise AddressRefused unless ``host``, an IP address, is public or in an allowed network."""
    address = _meant(ip_address(host.partition("%")[0]))
    if any(address in network for network in allowed):
        return
    if not address.is_global or address.is_multicast or _is_tunnel(address):
        raise AddressRefused("this is not a public address")


def _meant(address: Address) -> Address:
    """Give the IPv4 address that an IPv6 address stands for, where it does."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return address.ipv4_mapped
        if address in NAT64:
            return IPv4Address(address.packed[-4:])
    return address


def _is_tunnel(address: Address) -> bool:
    return isinstance(address, IPv6Address) and bool(address.sixtofour or address.teredo)
