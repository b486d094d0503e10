"""System checks: mistakes in an installation, found when a command starts.

`plays.E001`  an environment variable that cannot be read
`plays.W001`  front-end packages that are not there
"""

from __future__ import annotations

from collections.abc import Sequence

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage

from deepline_site import environment


@checks.register()
def environment_can_be_read(
    app_configs: Sequence[AppConfig] | None, **kwargs: object
) -> list[CheckMessage]:
    """Report every mistake that `deepline_site.environment` met while settings loaded."""
    return [checks.Error(mistake, id="plays.E001") for mistake in environment.MISTAKES]


@checks.register(checks.Tags.staticfiles)
def front_end_packages_are_there(
    app_configs: Sequence[AppConfig] | None, **kwargs: object
) -> list[CheckMessage]:
    """Report files that pages load and that no front-end package provides."""
    missing = sorted(path for path, source in settings.VENDOR_FILES.items() if not source.exists())
    if not missing:
        return []
    return [
        checks.Warning(
            f"Files of front-end packages are missing: {', '.join(missing)}.",
            hint="Run `make setup`.",
            id="plays.W001",
        )
    ]
