"""Addresses that providers may have, and those that they may not."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from plays.gateway.guard import AddressRefused, check


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "10.0.0.5",
        "172.16.1.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "198.18.0.1",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.5",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2002:808:808::",
        "2001:0:53aa:64c::1",
        "2001:db8::1",
    ],
)
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    with pytest.raises(AddressRefused, match="is not a public address"):
        check(address, ())


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_a_public_address_passes(address: str) -> None:
    check(address, ())


def test_an_administrator_can_let_a_private_network_through() -> None:
    allowed = (ip_network("10.1.0.0/16"),)

    check("10.1.2.3", allowed)
    check("::ffff:10.1.2.3", allowed)
    with pytest.raises(AddressRefused):
        check("10.2.0.1", allowed)
