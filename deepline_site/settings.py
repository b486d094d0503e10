"""Django's settings, from the environment and the installation's home.

Whoever sets nothing gets the embedded servers of `DEEPLINE_HOME`; `DATABASE_URL` and `REDIS_URL`
point the same code at other servers. Secrets are read from files of the home, so that they stand in
no command line. Mistakes in the environment are reported by `plays.checks`.
"""

from __future__ import annotations

import hashlib

import django_stubs_ext
from csp.constants import NONCE, NONE, SELF

from deepline_site import environment
from deepline_site.home import PROJECT, Home

# Lets classes of Django that are generic in its type stubs be written `Paginator[Run]` at run time.
django_stubs_ext.monkeypatch()

HOME = Home.from_environment()
try:
    HOME.prepare()
except OSError as error:
    # Nothing works without it, so not even a system check could tell.
    raise SystemExit(f"DEEPLINE_HOME: {HOME.path} cannot be used: {error.strerror}.") from None

# What the product itself reads -----------------------------------------------------------------

DEEPLINE_HOME = HOME.path
PORT = environment.whole_number("PORT", 8000, minimum=1, maximum=65_535)
DEEPLINE_UPLOAD_LIMIT_MB = environment.whole_number("DEEPLINE_UPLOAD_LIMIT_MB", 200, minimum=1)
DEEPLINE_LEASE_SECONDS = environment.number("DEEPLINE_LEASE_SECONDS", 30.0, minimum=1.0)
DEEPLINE_SWEEP_SECONDS = environment.number("DEEPLINE_SWEEP_SECONDS", 2.0, minimum=0.1)
# How far a play's process is kept apart from this machine; see docs/operating.md.
PLAY_ISOLATION = environment.choice("PLAY_ISOLATION", "auto", "strict", "off")
_product = HOME.product()
DEEPLINE_GATEWAY_URL = environment.text(
    "DEEPLINE_GATEWAY_URL", _product.gateway_url if _product else None
)
# The sandbox provider's address; None is the one that the gateway serves itself.
SANDBOX_URL = environment.text("SANDBOX_URL")
# The embedded servers of a test session do without fsync: what they hold may be lost.
DEEPLINE_TEST_SERVERS = environment.is_on("DEEPLINE_TEST_SERVERS")

# Django ----------------------------------------------------------------------------------------

SECRET_KEY = environment.text("DEEPLINE_SECRET_KEY") or HOME.secret("secret_key")
DEBUG = environment.is_on("DEEPLINE_DEBUG")
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", *environment.names("DEEPLINE_ALLOWED_HOSTS")]
CSRF_TRUSTED_ORIGINS = [
    f"https://{host}" for host in environment.names("DEEPLINE_ALLOWED_HOSTS") if host != "*"
]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "csp",
    "channels",
    "django_rq",
    "ninja",
    "plays",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "deepline_site.urls"
ASGI_APPLICATION = "deepline_site.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [PROJECT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
            ],
        },
    },
]

# Servers ---------------------------------------------------------------------------------------

# A process that is stopped, or whose machine is gone, may hold a run's row locked: no longer than
# its lease, or nobody could take the run.
DATABASES = {
    "default": environment.database(
        environment.text("DATABASE_URL") or HOME.database_url(),
        idle_seconds=DEEPLINE_LEASE_SECONDS,
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = environment.redis(environment.text("REDIS_URL") or HOME.redis_url())

# A server's published messages go to all of its numbered databases; the prefix keeps two
# installations apart that share a server but not a database.
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {
            "hosts": [REDIS_URL],
            "prefix": f"deepline{environment.redis_database(REDIS_URL)}",
        },
    },
}

# A run moves in `runs`; whatever else is done in the background is in `default`, so that a long run
# never delays a small job. Run jobs have no time limit: the engine's own deadline ends them.
RQ_QUEUES = {
    "runs": {"URL": REDIS_URL, "DEFAULT_TIMEOUT": -1},
    "default": {"URL": REDIS_URL, "DEFAULT_TIMEOUT": 600},
}
RQ = {"COMMIT_MODE": "on_db_commit"}

# People ----------------------------------------------------------------------------------------

LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

# Browsers send cookies to every port of a host. Names of its own keep two installations on one
# machine from signing each other's people out.
_mark = hashlib.sha256(str(HOME.path).encode()).hexdigest()[:8]
SESSION_COOKIE_NAME = f"deepline_session_{_mark}"
CSRF_COOKIE_NAME = f"deepline_csrf_{_mark}"
CSRF_COOKIE_HTTPONLY = True

LANGUAGE_CODE = "en"
USE_TZ = True
TIME_ZONE = "UTC"

# Uploads ---------------------------------------------------------------------------------------

# Straight to disk: an upload never lies in memory whole. What exceeds the limit is refused while it
# arrives, by the view, which can say so on its page.
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.TemporaryFileUploadHandler"]
FILE_UPLOAD_TEMP_DIR = HOME.uploads
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024

# Static files and what pages may load ----------------------------------------------------------

STATIC_URL = "/static/"
# Straight from where they lie: there is no step that gathers them.
WHITENOISE_USE_FINDERS = True
_packages = PROJECT / "node_modules"
# Files that pages load from the front-end packages; the rest of a package is not served. This build
# of the grid holds no old themes, whose style sheets it would insert without a nonce.
VENDOR_FILES = {
    "vendor/ag-grid/ag-grid-community.min.js": _packages
    / "ag-grid-community/dist/ag-grid-community.min.noStyle.js",
    "vendor/htmx/htmx.min.js": _packages / "htmx.org/dist/htmx.min.js",
}
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "deepline_site.static.VendorFinder",
]

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "font-src": [SELF, "data:"],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    },
}
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# Logs ------------------------------------------------------------------------------------------

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        # These two write whole addresses at INFO, query strings and keys included.
        "httpx": {"level": "WARNING"},
        "httpcore": {"level": "WARNING"},
    },
}
