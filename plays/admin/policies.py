"""How tools and providers are called: limits of the provider's, batches, prices, lives, on and off."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin

from plays.admin.engine_owned import Page
from plays.models import ToolPolicy
from plays.tools import catalogue

OWN_VALUE = "Empty: the catalogue's own value."
LIFE = "Seconds. 0: never used again."
WINDOWS_FORM = "Write a list of [requests, seconds], such as [[10, 1], [500, 60]]."


class PolicyForm(forms.ModelForm):  # type: ignore[type-arg]  # takes no parameter when it runs
    """A policy for a service, a provider or one tool, as the catalogue knows them."""

    provider = forms.ChoiceField()
    tool = forms.ChoiceField(required=False, help_text="Empty: every tool of the provider.")

    class Meta:
        model = ToolPolicy
        fields = tuple(field.name for field in ToolPolicy._meta.fields if field.editable)
        help_texts = {
            "is_enabled": "Off: no call leaves any more, of runs that are on their way too.",
            "windows": f"Requests allowed in a time, all at once. {WINDOWS_FORM} {OWN_VALUE}",
            "concurrency": f"Requests in flight at one time, of all runs. {OWN_VALUE}",
            "batch_size": f"Members in one request, at most as many as the provider takes. {OWN_VALUE}",
            "linger_seconds": f"How long a call waits for others to leave with. {OWN_VALUE}",
            "price": f"Credits per hit. {OWN_VALUE}",
            "hit_life_seconds": f"How long a result is used again. {LIFE} {OWN_VALUE}",
            "miss_life_seconds": f"How long a definite miss is used again. {LIFE} {OWN_VALUE}",
        }
        widgets = {"windows": forms.Textarea(attrs={"rows": 2, "cols": 60})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._offer("provider", _providers())
        self._offer("tool", ["", *catalogue().ids()])

    def _offer(self, name: str, values: list[str]) -> None:
        """Offer what the catalogue knows, and what a policy of a tool that is gone already says."""
        now = getattr(self.instance, name)
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [
            (value, value or "—") for value in [*values, now] if value in values or now
        ]

    def clean_windows(self) -> list[list[float]]:
        """Check that windows can be kept: positive whole requests in a positive time."""
        windows = self.cleaned_data["windows"] or []
        if not isinstance(windows, list) or not all(map(_is_window, windows)):
            raise forms.ValidationError(f"{WINDOWS_FORM} Both numbers are above 0, requests whole.")
        return windows

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        tool, provider = given.get("tool"), given.get("provider")
        spec = catalogue().spec(tool) if tool else None
        if spec is not None and spec.provider != provider:
            self.add_error("tool", f"{tool} is a tool of {spec.provider}, not of {provider}.")
        self._check_numbers(given)
        return given

    def _check_numbers(self, given: dict[str, Any]) -> None:
        for name in ("concurrency", "batch_size"):
            if given.get(name) == 0:
                self.add_error(name, "At least 1; switch the tool off to send nothing.")
        for name in ("linger_seconds", "price"):
            value: float | Decimal | None = given.get(name)
            if value is not None and not 0 <= value < float("inf"):
                self.add_error(name, "A number of at least 0.")


def _providers() -> list[str]:
    """Return the providers of the catalogue's tools, and the services that hold for several of them."""
    tools = [tool for name in catalogue().ids() if (tool := catalogue().tool(name))]
    return sorted({name for tool in tools for name in (tool.provider, tool.service.id)})


def _is_window(window: object) -> bool:
    if not isinstance(window, list) or len(window) != 2:
        return False
    requests, seconds = window
    if isinstance(requests, bool) or isinstance(seconds, bool):
        return False
    return (
        isinstance(requests, int)
        and isinstance(seconds, int | float)
        and requests > 0
        and 0 < seconds < float("inf")
    )


@admin.register(ToolPolicy)
class ToolPolicyAdmin(Page):
    """Policies of providers and tools; they act at once."""

    form = PolicyForm
    list_display = (
        "__str__",
        "provider",
        "is_enabled",
        "windows",
        "concurrency",
        "batch_size",
        "price",
        "hit_life_seconds",
        "miss_life_seconds",
    )
    list_filter = ("is_enabled",)
    ordering = ("provider", "tool")
    search_fields = ("provider", "tool")
    fieldsets = (
        (
            None,
            {
                "description": "A policy acts at once, on runs that are on their way too. What a tool's"
                " own policy says goes before its provider's; their windows and concurrency both"
                " hold.",
                "fields": ("provider", "tool", "is_enabled"),
            },
        ),
        ("The provider's limits", {"fields": ("windows", "concurrency")}),
        ("Batches", {"fields": ("batch_size", "linger_seconds")}),
        ("Price and lives", {"fields": ("price", "hit_life_seconds", "miss_life_seconds")}),
    )
