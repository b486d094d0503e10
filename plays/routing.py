"""The addresses of websockets."""

from __future__ import annotations

from django.urls import URLPattern, path

from plays.consumers import RunConsumer

websocket_urlpatterns: list[URLPattern] = [
    path("ws/runs/<uuid:run_id>/", RunConsumer.as_asgi(), name="run-socket"),
]
