"""What administrators set: limits for new runs, and how tools and providers are called."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from plays.admin.engine_owned import Page
from plays.models import GovernanceProfile
from plays.services.limits import profile_save

NO_LIMIT = "Empty: no limit."
PER_ROW = "Added for each row of the run's maps."


class ProfileForm(forms.ModelForm):  # type: ignore[type-arg]  # takes no parameter when it runs
    """A profile; exactly one is the default, so that is given to another one, never taken away."""

    class Meta:
        model = GovernanceProfile
        fields = tuple(field.name for field in GovernanceProfile._meta.fields if field.editable)
        help_texts = {
            "is_default": "New runs copy the default profile. Marking this one unmarks the other.",
            "max_play_call_depth": "How deep child plays may call child plays.",
            "max_play_call_count": "Child plays of a run and all below it.",
            "max_play_calls_per_row": PER_ROW,
            "max_child_play_calls_per_parent": "Child plays that one run itself calls.",
            "max_child_play_calls_per_row": PER_ROW,
            "max_descendants": "Runs below a run, at any depth.",
            "max_descendants_per_row": PER_ROW,
            "max_concurrent_play_calls": "Child plays at one time; further ones wait.",
            "max_tool_call_count": "Calls really sent; answers from the ledger count nothing.",
            "max_tool_calls_per_row": PER_ROW,
            "max_waterfall_step_executions": f"Rows times steps tried. {NO_LIMIT}",
            "max_retry_count": "Calls sent again after a failure.",
            "max_retries_per_row": PER_ROW,
            "max_concurrent_tool_calls": "Requests in flight at one time; further ones wait.",
            "max_credits": f"Credits reserved and spent. {NO_LIMIT}",
            "max_runtime_seconds": NO_LIMIT,
        }

    def clean_is_default(self) -> bool:
        is_default: bool = self.cleaned_data["is_default"]
        if not is_default and not _is_another_default(self.instance):
            raise forms.ValidationError(
                "One profile is always the default: mark another one instead."
            )
        return is_default

    def _get_validation_exclusions(self) -> set[str]:
        """Leave the rule of the single default to `profile_save`, which moves the mark.

        A form has no public way to keep a model from checking one constraint.
        """
        excluded: set[str] = super()._get_validation_exclusions()  # type: ignore[misc]
        return excluded | {"is_default"}


def _is_another_default(profile: GovernanceProfile) -> bool:
    return GovernanceProfile.objects.filter(is_default=True).exclude(pk=profile.pk).exists()


@admin.register(GovernanceProfile)
class GovernanceProfileAdmin(Page):
    """Profiles of limits. Runs copy them when they start: a change acts on the next run."""

    form = ProfileForm
    list_display = (
        "name",
        "is_default",
        "max_tool_call_count",
        "max_tool_calls_per_row",
        "max_credits",
        "max_concurrent_tool_calls",
        "max_runtime_seconds",
    )
    ordering = ("name",)
    fieldsets = (
        (
            None,
            {
                "description": "Runs copy these limits when they start. A change acts on the next run;"
                " the limits of a run that has started are raised on the run itself.",
                "fields": ("name", "is_default"),
            },
        ),
        (
            "Tools",
            {
                "fields": (
                    ("max_tool_call_count", "max_tool_calls_per_row"),
                    ("max_retry_count", "max_retries_per_row"),
                    "max_waterfall_step_executions",
                    "max_concurrent_tool_calls",
                )
            },
        ),
        (
            "Child plays",
            {
                "fields": (
                    "max_play_call_depth",
                    ("max_play_call_count", "max_play_calls_per_row"),
                    ("max_child_play_calls_per_parent", "max_child_play_calls_per_row"),
                    ("max_descendants", "max_descendants_per_row"),
                    "max_concurrent_play_calls",
                )
            },
        ),
        ("Spending and time", {"fields": ("max_credits", "max_runtime_seconds")}),
    )

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Whether a profile may be deleted: never the default one."""
        if isinstance(obj, GovernanceProfile) and obj.is_default:
            return False
        return super().has_delete_permission(request, obj)

    def save_model(
        self, request: HttpRequest, obj: GovernanceProfile, form: Any, change: Any
    ) -> None:
        profile_save(obj)
