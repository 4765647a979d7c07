"""Django's settings: one module, with production values unless the environment says otherwise (see .env.example)."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from config import env

BASE_DIR = Path(__file__).resolve().parent.parent

environment = env.load(BASE_DIR)
ENVIRONMENT = environment.choice("ENVIRONMENT", ("local", "production"), "local")
PRODUCTION = ENVIRONMENT == "production"
DEBUG = environment.switch("DEBUG", default=False)

# --- Where the data lives -------------------------------------------------------------------------------------------

DATA_DIR = BASE_DIR / environment.text("DATA_DIR", "var")
DATABASES = {
    "default": environment.database(
        DATA_DIR / "larder.sqlite3",
        pool_size=environment.integer("DATABASE_POOL_SIZE", 20),
        prepared_statements=environment.switch("DATABASE_PREPARED_STATEMENTS", default=True),
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CACHES = {"default": environment.cache()}

# `make setup` collects the static files into STATIC_ROOT, and each process reads that list once. Without it (tests,
# runserver) they are looked up where they lie.
STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [folder for folder in (BASE_DIR / "static",) if folder.is_dir()]
STATIC_COLLECTED = environment.switch("STATIC_COLLECTED", default=(STATIC_ROOT / "staticfiles.json").is_file())
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = not STATIC_COLLECTED
WHITENOISE_ALLOW_ALL_ORIGINS = False
STORAGES = {
    "default": environment.storage(DATA_DIR / "files"),
    "staticfiles": {"BACKEND": "config.static.LarderStaticFilesStorage"},
}

# --- Secrets: given by the environment in production, made and kept in DATA_DIR elsewhere ---------------------------

SECRET_KEY = environment.secret("SECRET_KEY", None if PRODUCTION else DATA_DIR / "secret_key")
SECRET_KEY_FALLBACKS = environment.words("SECRET_KEY_FALLBACKS")
# Peppers under which digests of keys and tokens are stored, newest first; older ones still verify.
_peppers = environment.secret("CREDENTIAL_PEPPERS", None if PRODUCTION else DATA_DIR / "credential_peppers")
CREDENTIAL_PEPPERS = [pepper.strip() for pepper in _peppers.split(",") if pepper.strip()]

# The private key that signs the heads of the history, and where the worker keeps each day's seal.
SEAL_KEY_FILE = environment.text("SEAL_KEY_FILE") or str(DATA_DIR / "seal_key.pem")
SEALS_DIR = environment.text("SEALS_DIR") or str(DATA_DIR / "seals")

# --- The address ----------------------------------------------------------------------------------------------------

PORT = environment.integer("PORT", 8000, maximum=65535)
_base_url = environment.base_url(f"http://127.0.0.1:{PORT}")
# What every link is built from; never the Host header of a request.
BASE_URL = _base_url.geturl()
HTTPS = _base_url.scheme == "https"
_host = _base_url.hostname or ""
ALLOWED_HOSTS = list(
    dict.fromkeys(
        [
            *environment.words("ALLOWED_HOSTS"),
            f"[{_host}]" if ":" in _host else _host,
            *([] if PRODUCTION else ["localhost", "127.0.0.1", "[::1]"]),
        ]
    )
)
CSRF_TRUSTED_ORIGINS = [BASE_URL]
# Only these peers may say, in X-Forwarded-For and X-Forwarded-Proto, whom they speak for (config/proxies.py).
TRUSTED_PROXIES = environment.networks("TRUSTED_PROXIES")

# --- Limits ---------------------------------------------------------------------------------------------------------

# Requests a minute: per key or access token, per provisioning token, and wrong credentials per address.
RATE_LIMIT = environment.integer("RATE_LIMIT", 300)
SCIM_RATE_LIMIT = environment.integer("SCIM_RATE_LIMIT", 6000)
AUTH_FAILURE_LIMIT = environment.integer("AUTH_FAILURE_LIMIT", 30)
# Bytes of a document's file, decoded.
FILE_SIZE_LIMIT = environment.integer("FILE_SIZE_LIMIT", 25 * 1024 * 1024)
# Bytes of all attachments of a site together.
SITE_ATTACHMENTS_LIMIT = environment.integer("SITE_ATTACHMENTS_LIMIT", 50 * 1024**3)
# Bytes of a form without its files. The interfaces read bodies by themselves, with limits of their own.
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024 // 2
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000

# --- What the product is made of ------------------------------------------------------------------------------------

_LATER_ROOMS = (
    "records.complaints",
    "records.items",
    "records.customers",
    "records.audits",
    "records.actions",
    "records.attachments",
    "documents",
    "materials",
    "scim",
    "records.dashboard",
)

INSTALLED_APPS = [
    "records.backoffice.apps.LarderAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "axes",
    "csp",
    "django_tasks",
    "django_tasks_db",
    "records.history",
    "records.sites",
    "records.reference",
    "records.accounts",
    "records.operations",
    "records.files",
    "records.backoffice.apps.BackofficeConfig",
    "records.category",
    "records.employees",
    *[room for room in _LATER_ROOMS if (BASE_DIR / room.replace(".", "/") / "apps.py").is_file()],
]
AUTH_USER_MODEL = "accounts.User"
SILENCED_SYSTEM_CHECKS = [
    "auth.W004",  # A user name is unique through its normalised key, which a removed account gives up.
    "security.W008",  # TLS ends at the proxy, which redirects; an API that redirects loses the bodies of its callers.
]
# Unique is the folded name, accounts.User.user_name_key, by which our sign-in looks accounts up.
SILENCED_SYSTEM_CHECKS = ["auth.W004"]

MIDDLEWARE = [
    "config.proxies.TrustedProxyMiddleware",
    "records.operations.middleware.RequestMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "records.backoffice.middleware.SiteZoneMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
# The interface accepts a trailing slash and never redirects.
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

LANGUAGE_CODE = "en"
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

# --- Signing in -----------------------------------------------------------------------------------------------------

AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "records.accounts.sign_in.AccountBackend"]
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"
LOGOUT_REDIRECT_URL = "admin:index"

# A name at an address is locked for 15 minutes after 10 failures; neither alone, so that nobody locks a colleague out
# from elsewhere. Counted in the database: exact over all workers.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_USERNAME_FORM_FIELD = "username"
AXES_USERNAME_CALLABLE = "config.lockout.attempted_name"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False

# --- What browsers are told -----------------------------------------------------------------------------------------

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 60 * 60
SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60 if HTTPS else 0
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        # The API page's icons are data: pictures, which run nothing.
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}

# --- Mail and background tasks --------------------------------------------------------------------------------------

_email = environment.email(DATA_DIR / "mail")
EMAIL_BACKEND: str = _email["EMAIL_BACKEND"]
EMAIL_FILE_PATH: str | None = _email.get("EMAIL_FILE_PATH")
EMAIL_HOST: str = _email.get("EMAIL_HOST", "localhost")
EMAIL_PORT: int = _email.get("EMAIL_PORT", 25)
EMAIL_HOST_USER: str = _email.get("EMAIL_HOST_USER", "")
EMAIL_HOST_PASSWORD: str = _email.get("EMAIL_HOST_PASSWORD", "")
EMAIL_USE_SSL: bool = _email.get("EMAIL_USE_SSL", False)
EMAIL_USE_TLS: bool = _email.get("EMAIL_USE_TLS", False)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = SERVER_EMAIL = environment.text("EMAIL_FROM", f"Larder <larder@{_host}>")

# Tasks are rows of the database, queued in the transaction that wants them and run by `manage.py db_worker`.
TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}

# --- The JSON interface ---------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    # A view that names no permission answers nobody.
    "DEFAULT_PERMISSION_CLASSES": ["records.operations.permissions.DenyAll"],
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "records.operations.schema.OperationSchema",
    "EXCEPTION_HANDLER": "records.operations.errors.handle_exception",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Larder",
    "DESCRIPTION": "Quality and food-safety records. Every call carries `Ocp-Apim-Subscription-Key`; paths are taken "
    "with and without a trailing slash. A body may repeat the read-only fields of a record that was read: they are "
    "ignored. Any other unknown field or query parameter is refused. Every answer carries `X-Request-Id` and "
    "`X-Api-Version`, and those to a valid key `X-RateLimit-Limit`, `-Remaining` and `-Reset`.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    "COMPONENT_SPLIT_REQUEST": True,
    "PREPROCESSING_HOOKS": ["records.operations.schema.paths_of_rows"],
    "POSTPROCESSING_HOOKS": ["records.operations.schema.whole_shapes"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}

# --- Logs: one JSON object a line on stderr -------------------------------------------------------------------------

LOG_LEVEL = environment.choice("LOG_LEVEL", ("debug", "info", "warning", "error"), "info").upper()
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "records.operations.logs.JsonFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        # Django attaches a handler of its own to "django"; everything goes through the one above instead.
        "django": {"handlers": [], "level": LOG_LEVEL, "propagate": True},
        # What a caller did wrong is in the access log; here only what went wrong inside.
        "django.request": {"level": "ERROR"},
        "django.security": {"level": "ERROR"},
        # SQL holds the values it is run with.
        "django.db.backends": {"level": "INFO"},
        "django_scim": {"level": "ERROR"},
        "axes": {"level": "WARNING"},
    },
}

# --- The last word --------------------------------------------------------------------------------------------------

if PRODUCTION:
    if not HTTPS:
        environment.fault("BASE_URL must be an https address in production.")
    if DEBUG:
        environment.fault("DEBUG must be off in production.")
    if "*" in ALLOWED_HOSTS:
        environment.fault("ALLOWED_HOSTS must name hosts in production, not *.")
    if SECRET_KEY and SECRET_KEY in CREDENTIAL_PEPPERS:
        environment.fault("CREDENTIAL_PEPPERS must not hold the SECRET_KEY.")
environment.refuse_if_faulty()
env.make_private_folder(DATA_DIR)
