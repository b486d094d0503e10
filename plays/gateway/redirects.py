"""Where a reply leads: the request that follows a redirect. Pure.

Every hop is a request of its own, so the address guard holds for each.
"""

from __future__ import annotations

from dataclasses import replace

from yarl import URL

from plays.tools.addresses import AddressInvalid, web_address
from plays.tools.definitions import Failure, ProviderReply, ProviderRequest

STATUSES = (301, 302, 303, 307, 308)


def next_request(
    request: ProviderRequest, url: URL, reply: ProviderReply
) -> tuple[ProviderRequest, URL] | Failure | None:
    """Give what a reply from ``url`` asks for next; None where the reply is the last.

    It is the last too where the request follows no more redirects. What is private stays behind where the
    origin changes: scheme, host or port.
    """
    location = reply.headers.get("location", "")
    if not request.redirects or reply.status not in STATUSES or not location:
        return None
    try:
        target = web_address(location, url)
    except AddressInvalid as error:
        message = f"{url.host} redirects to where nothing can be fetched: {error}"
        return Failure("redirect_refused", "validation", message)
    headers = request.headers
    if target.origin() != url.origin():
        headers = {n: v for n, v in headers.items() if n.lower() not in request.private_headers}
    return replace(request, headers=headers, redirects=request.redirects - 1), target
