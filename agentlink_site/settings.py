"""Django's settings, built from `AGENTLINK_*`. Importing this makes the home when it is missing."""

from pathlib import Path

from agentlink_site.database import databases, use_newest_sqlite

use_newest_sqlite()  # before anything below can import Django's SQLite backend

from agentlink_site.config import load  # noqa: E402
from agentlink_site.home import ensure_home, instance_id, secret_key  # noqa: E402
from agentlink_site.logs import configure_structlog, logging_config  # noqa: E402

BASE_DIR = Path(__file__).resolve().parent.parent

AGENTLINK = load()
AGENTLINK_HOME = ensure_home(AGENTLINK)
AGINTIFLOW_HOME = AGENTLINK.agintiflow_home

SECRET_KEY = secret_key(AGENTLINK_HOME)
AGENTLINK_INSTANCE = instance_id(SECRET_KEY)
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]

INSTALLED_APPS = [
    "boards",
    "peers",
    "evidence",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_htmx",
    "lucide",
]
MIDDLEWARE = [
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "agentlink_site.security.actor_middleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
]
ROOT_URLCONF = "agentlink_site.urls"
APPEND_SLASH = False

DATABASES = databases(AGENTLINK)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
    }
]
LOGIN_URL = "/login"
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_ALLOW_ALL_ORIGINS = False

# Two instances on two ports of one host share a cookie jar: the names keep them apart.
SESSION_COOKIE_NAME = f"agentlink_{AGENTLINK_INSTANCE}"
SESSION_COOKIE_AGE = 30 * 24 * 3600
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Strict"
CSRF_COOKIE_NAME = f"agentlink_csrf_{AGENTLINK_INSTANCE}"
CSRF_FAILURE_VIEW = "agentlink_site.problems.csrf_failure"

DATA_UPLOAD_MAX_MEMORY_SIZE = FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1000
DATA_UPLOAD_MAX_NUMBER_FILES = 0
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.MemoryFileUploadHandler"]
FILE_UPLOAD_PERMISSIONS = 0o600

TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

LOGGING = logging_config(AGENTLINK.log_level)
configure_structlog()
