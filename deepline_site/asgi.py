"""The web server's application: static files, Django's pages and API, and the websockets.

The gateway is another application, `plays.gateway.app`, on a port of its own, so that a big run
never slows a page.
"""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deepline_site.settings")

# Models are usable only after this call; what follows imports them.
pages = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402

from deepline_site.static import with_static_files  # noqa: E402
from plays.bodies import with_body_limit  # noqa: E402
from plays.routing import websocket_urlpatterns  # noqa: E402

application = with_static_files(
    ProtocolTypeRouter(
        {
            "http": with_body_limit(pages),
            "websocket": AllowedHostsOriginValidator(
                AuthMiddlewareStack(URLRouter(websocket_urlpatterns))
            ),
        }
    )
)
