"""Lists in pages, addressed by ``?page=``; a page that is not there gives the nearest."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest

PAGE_LINES = 50


def page_of(request: HttpRequest, query: QuerySet[Any]) -> Page[Any]:
    """Give the page of ``query`` that the request asks for."""
    return Paginator(query, PAGE_LINES).get_page(request.GET.get("page"))


def query_without_page(request: HttpRequest) -> str:
    """Give the request's query without its page, ending in ``&``, for links to other pages."""
    query = request.GET.copy()
    query.pop("page", None)
    return f"{query.urlencode()}&" if query else ""
