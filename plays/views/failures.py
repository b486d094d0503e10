"""Pages for what went wrong: each says in one sentence what it is and what to do.

Templates that Django finds by name do the same: 403, 403_csrf, 404 and 500.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from plays.services.uploads import upload_limit_sentence


def wants_json(request: HttpRequest) -> bool:
    """Whether a script of these pages asks, which shows the sentence where the person is."""
    return request.accepts("application/json") and not request.accepts("text/html")


def refusal(request: HttpRequest, title: str, sentence: str, *, status: int) -> HttpResponse:
    """Answer with one sentence: as a page, or as JSON where a script asks."""
    if wants_json(request):
        return JsonResponse({"error": sentence}, status=status)
    context = {"title": title, "sentence": sentence}
    return render(request, "plays/refusal.html", context, status=status)


def body_too_large(request: HttpRequest) -> HttpResponse:
    """Answer a request whose body was refused before it was read (``plays.bodies``)."""
    return refusal(request, "Too large", upload_limit_sentence(""), status=413)
