"""The page of tools: what a play can ask, as the catalogue and the policies say now."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from plays.tools import catalogue
from plays.tools.policies import specs_for
from plays.views.workspace import workspace_required


@login_required
@require_GET
def tool_list(request: HttpRequest) -> HttpResponse:
    """Show every tool with its provider, output, price and batch size, and why it cannot be asked."""
    workspace_required(request)
    return render(request, "plays/list_tools.html", {"tools": specs_for(catalogue().ids())})
