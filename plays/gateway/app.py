"""The gateway's entry: ``uvicorn plays.gateway.app:application``.

It is the same Django project as the pages, on a port of its own, so that a big run never slows a page.
"""

from __future__ import annotations

import os

import django
from django.apps import apps

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deepline_site.settings")
if not apps.ready:
    django.setup()

# Policies stand on a model, which can be imported only after the call above.
from plays.gateway.server import Application

application = Application()
