"""Signing in."""

from __future__ import annotations

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpResponse

from plays.services.workspaces import workspace_default, workspace_join_superusers


class SignIn(LoginView):
    """The page to sign in. A superuser who is a member of no workspace joins the first one here."""

    template_name = "registration/login.html"
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Sign the person in."""
        if form.get_user().is_superuser:
            workspace_join_superusers(workspace_default())
        return super().form_valid(form)
