"""Django's settings, with production values unless the environment says otherwise (see .env.example)."""

from datetime import timedelta
from pathlib import Path

from config import env
from config.logs import logging_at
from config.openapi import SPECTACULAR_SETTINGS as SPECTACULAR_SETTINGS
from config.private_files import make_private_folder

BASE_DIR = Path(__file__).resolve().parent.parent

environment = env.load(BASE_DIR)
ENVIRONMENT = environment.choice("ENVIRONMENT", ("local", "production"), "local")
PRODUCTION = ENVIRONMENT == "production"
DEBUG = environment.switch("DEBUG", default=False)

# --- Where the data lives -------------------------------------------------------------------------------------------

DATA_DIR = BASE_DIR / environment.text("DATA_DIR", "var")
# How many seconds a statement of the server may wait for a lock and may take (PostgreSQL; SQLite: only the first).
LOCK_TIMEOUT = environment.integer("DATABASE_LOCK_TIMEOUT", 10)
STATEMENT_TIMEOUT = environment.integer("DATABASE_STATEMENT_TIMEOUT", 20)
_prepared_statements = environment.switch("DATABASE_PREPARED_STATEMENTS", default=True)
DATABASES = {
    "default": environment.database(
        DATA_DIR / "larder.sqlite3", lock_timeout=LOCK_TIMEOUT, prepared_statements=_prepared_statements
    ),
    # Lists are read from a replica where it is as new as the primary (records/history/replica.py).
    **environment.replicas(prepared_statements=_prepared_statements),
}
DATABASE_ROUTERS = ["records.history.replica.Router"] if "replica" in DATABASES else []
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CACHES = {"default": environment.cache(), "counted": environment.counts_cache(DATA_DIR / "counted")}

# `make setup` collects the static files into STATIC_ROOT, and each process reads the list of them once. Without it
# (tests, runserver) the files are found in their source folders.
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
# Peppers for the digests of keys and tokens, newest first; older ones are still accepted.
_peppers = environment.secret("CREDENTIAL_PEPPERS", None if PRODUCTION else DATA_DIR / "credential_peppers")
CREDENTIAL_PEPPERS = [pepper.strip() for pepper in _peppers.split(",") if pepper.strip()]

# The private key that signs the heads of the history, and the folder in which the worker stores each day's seal.
SEAL_KEY_FILE = environment.text("SEAL_KEY_FILE") or str(DATA_DIR / "seal_key.pem")
SEALS_DIR = environment.text("SEALS_DIR") or str(DATA_DIR / "seals")

# --- The address ----------------------------------------------------------------------------------------------------

PORT = environment.integer("PORT", 8000, maximum=65535)
_base_url = environment.base_url(f"http://127.0.0.1:{PORT}")
# The base of every link, instead of the Host header of a request.
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
# Only these peers may report the client in X-Forwarded-For and X-Forwarded-Proto (config/proxies.py).
TRUSTED_PROXIES = environment.networks("TRUSTED_PROXIES")

# --- Limits ---------------------------------------------------------------------------------------------------------

# Limits per minute: requests per key or access token, requests per provisioning token, wrong credentials per address.
RATE_LIMIT = environment.integer("RATE_LIMIT", 300)
SCIM_RATE_LIMIT = environment.integer("SCIM_RATE_LIMIT", 6000)
AUTH_FAILURE_LIMIT = environment.integer("AUTH_FAILURE_LIMIT", 30)
# The maximum size, in bytes, of a document's file, decoded.
FILE_SIZE_LIMIT = environment.integer("FILE_SIZE_LIMIT", 25 * 1024 * 1024)
# The maximum size, in bytes, of the files of one form together, on pages that take several.
FORM_FILES_LIMIT = 4 * FILE_SIZE_LIMIT
# The maximum size, in bytes, of all attachments of a site together.
SITE_ATTACHMENTS_LIMIT = environment.integer("SITE_ATTACHMENTS_LIMIT", 50 * 1024**3, maximum=2**50)
# The maximum size, in bytes, of a form without its files. The interfaces read bodies themselves, with other limits.
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024 // 2
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000
FILE_UPLOAD_HANDLERS = ["records.files.uploads.InMemory", "records.files.uploads.OnDisk"]

# --- What the product is made of ------------------------------------------------------------------------------------

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
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "records.backoffice.apps.ProvidersConfig",
    "allauth.socialaccount.providers.openid_connect",
    "django_tasks",
    "records.history",
    "records.sites",
    "records.reference",
    "records.accounts",
    "records.operations",
    # Must come after our room, so that our db_worker command is the one that runs.
    "django_tasks_db",
    "records.files",
    "records.backoffice.apps.BackofficeConfig",
    "records.retention",
    "records.category",
    "records.employees",
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
    "records.packs",
    "records.recovery",
    "records.reminders",
    "records.webhooks",
]


def gettext_noop(text: str) -> str:
    """Mark a text for translation. Django's own function asks for the settings, which are only being read here."""
    return text


# The groups of the back-office's menu and the apps in each, in order; all other apps follow under Administration.
BACKOFFICE_MENU = {
    gettext_noop("Records"): (
        "complaints",
        "actions",
        "documents",
        "audits",
        "items",
        "customers",
        "materials",
        "employees",
        "attachments",
    ),
    gettext_noop("Reports"): (),
    gettext_noop("Lists"): ("reference",),
    gettext_noop("Administration"): ("sites", "accounts", "scim", "history"),
}
# Pages that show data of all sites of the user, who therefore stays on the page when switching the site.
PAGES_OF_ALL_SITES = ("admin:search", "admin:documents_inbox", "profile")
AUTH_USER_MODEL = "accounts.User"
SILENCED_SYSTEM_CHECKS = [
    "auth.W004",  # A user name is unique by its normalised key, which a removed account gives up.
    "security.W008",  # TLS ends at the proxy, which redirects; an API that redirects would lose its callers' bodies.
    # Browsers' preload lists apply to a whole domain for years; the domain's owner adds it, not one of its hosts.
    "security.W021",
    # SQLite leaves out the columns that PostgreSQL keeps in an index besides its key.
    "models.W040",
]

MIDDLEWARE = [
    "config.proxies.TrustedProxyMiddleware",
    "records.operations.middleware.RequestMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "records.backoffice.sign_in.middleware.AnonymousSessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "records.backoffice.middleware.SiteZoneMiddleware",
    "records.backoffice.middleware.LanguageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "records.backoffice.sign_in.middleware.SignInMiddleware",
    "records.backoffice.unsaved_input.UnsavedInputMiddleware",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
# The interface accepts a trailing slash and never redirects.
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "config.templates.Templates",
        "NAME": "django",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# What is stored and what programs read is in English. People read one of these, whose catalogues are complete.
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [BASE_DIR / "locale"]
# Days and numbers look the same in every language.
FORMAT_MODULE_PATH = ["config.formats"]
TIME_ZONE = "UTC"

# --- Signing in -----------------------------------------------------------------------------------------------------

AUTHENTICATION_BACKENDS = ["records.accounts.sign_in.AccountBackend"]
# A name that a password must not contain, in addition to those of the sites and the person.
ORGANISATION_NAME = environment.text("ORGANISATION_NAME")
PASSWORD_SIGN_IN = environment.switch("PASSWORD_SIGN_IN", default=True)
AUTH_PASSWORD_VALIDATORS: list[dict[str, object]] = [
    {"NAME": "records.accounts.passwords.LengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "records.accounts.passwords.GuessablePasswordValidator"},
    {"NAME": "records.accounts.passwords.NameInPasswordValidator"},
]
# A link for a new password is valid for an hour. Invitations are valid longer (records/backoffice/passwords.py).
PASSWORD_RESET_TIMEOUT = 60 * 60
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = LOGOUT_REDIRECT_URL = "admin:index"

# Limits on wrong passwords and codes, which are counted in the database (records/accounts/guesses.py).
SIGN_IN_FAILURES_ACCOUNT = environment.integer("SIGN_IN_FAILURES_ACCOUNT", 10)
SIGN_IN_FAILURES_ADDRESS = environment.integer("SIGN_IN_FAILURES_ADDRESS", 30)
SIGN_IN_FAILURES_ALL = environment.integer("SIGN_IN_FAILURES_ALL", 300)
SIGN_IN_LOCK_MINUTES = environment.integer("SIGN_IN_LOCK_MINUTES", 15, maximum=24 * 60)

# Days for which the security log's rows are kept; the history keeps its Changes.
SECURITY_LOG_DAYS = environment.integer("SECURITY_LOG_DAYS", 730, maximum=36_600)
# The longest time, in days, for which a directory's new provisioning token is valid; 0 for no limit.
PROVISIONING_TOKEN_DAYS = environment.integer("PROVISIONING_TOKEN_DAYS", 365, minimum=0, maximum=3660)
# The brake on mass removal: within an hour a directory may switch off, delete or remove from roles at most this many
# people, or this share of the active people whom it owns if that is more (records/accounts/brake.py).
DIRECTORY_BRAKE_PEOPLE = environment.integer("DIRECTORY_BRAKE_PEOPLE", 10)
DIRECTORY_BRAKE_PERCENT = environment.integer("DIRECTORY_BRAKE_PERCENT", 20, maximum=100)

# Who must have a second factor: nobody, the holders of administrative permissions, or everybody.
SECOND_FACTOR = environment.choice("SECOND_FACTOR", ("optional", "administrators", "everybody"), "optional")

# The company's OpenID Connect provider. Its name contains the issuer, so that an identity that was linked under one
# issuer never signs anybody in under another.
OIDC_ISSUER = environment.text("OIDC_ISSUER").rstrip("/")
OIDC_NAME = environment.text("OIDC_NAME", "your company account")
OIDC_PROVIDER_ID = env.provider_id(OIDC_ISSUER)
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "APPS": [
            {
                "provider_id": OIDC_PROVIDER_ID,
                "name": OIDC_NAME,
                "client_id": environment.text("OIDC_CLIENT_ID"),
                "secret": environment.text("OIDC_CLIENT_SECRET"),
                "settings": {"server_url": OIDC_ISSUER, "oauth_pkce_enabled": True, "fetch_userinfo": False},
            }
        ]
        if OIDC_ISSUER
        else []
    }
}
SOCIALACCOUNT_ADAPTER = "records.backoffice.sign_in.provider.ProviderAdapter"
SOCIALACCOUNT_EMAIL_AUTHENTICATION = False

ACCOUNT_ADAPTER = "records.backoffice.sign_in.adapters.AccountAdapter"
ACCOUNT_FORMS = {"login": "records.backoffice.sign_in.forms.SignInForm"}
ACCOUNT_USER_MODEL_USERNAME_FIELD = "user_name"
ACCOUNT_USER_MODEL_EMAIL_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if HTTPS else "http"
ACCOUNT_REAUTHENTICATION_METHODS = ("password", "mfa") if PASSWORD_SIGN_IN else ("mfa",)
# Our own limits count instead, in one place and exactly across all workers.
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False
MFA_ADAPTER = "records.backoffice.sign_in.adapters.FactorAdapter"
MFA_FORMS = {
    "activate_totp": "records.backoffice.sign_in.forms.AddAppForm",
    "authenticate": "records.backoffice.sign_in.forms.CodeForm",
    "reauthenticate": "records.backoffice.sign_in.forms.ConfirmCodeForm",
    "authenticate_webauthn": "records.backoffice.sign_in.forms.PasskeyFactorForm",
    "reauthenticate_webauthn": "records.backoffice.sign_in.forms.ConfirmPasskeyForm",
    "login_webauthn": "records.backoffice.sign_in.forms.PasskeySignInForm",
    "add_webauthn": "records.backoffice.sign_in.forms.AddPasskeyForm",
}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_WEBAUTHN_USER_VERIFICATION = "required"
# Without TLS, browsers offer passkeys only on localhost.
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not HTTPS
MFA_TOTP_TOLERANCE = 1
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_ALLOW_UNVERIFIED_EMAIL = True

# --- Headers and cookies for browsers -------------------------------------------------------------------------------

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
if HTTPS:
    # Browsers accept a cookie with this prefix only from this host, with TLS, and for every path.
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-sessionid", "__Host-csrftoken"
# A session ends after this time without use, and at the latest this long after the sign-in.
SESSION_IDLE_MINUTES = environment.integer("SESSION_IDLE_MINUTES", 60, maximum=7 * 24 * 60)
SESSION_HOURS = environment.integer("SESSION_HOURS", 12, maximum=7 * 24)
SESSION_COOKIE_AGE = SESSION_HOURS * 60 * 60
# In the session, so that names in messages are not stored in a cookie.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60 if HTTPS else 0
# Whether browsers must use TLS also for every subdomain of BASE_URL's host.
SECURE_HSTS_INCLUDE_SUBDOMAINS = environment.switch("HSTS_SUBDOMAINS", default=PRODUCTION)
# Cookies are Lax, frames are refused, and referrers and openers stay at this origin by Django's own defaults.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "script-src": ["'self'"],
        "worker-src": ["'self'"],
        "style-src": ["'self'"],
        # The API page's icons are data: images, which cannot run scripts.
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}

# --- Mail and background tasks --------------------------------------------------------------------------------------

_email = environment.email(DATA_DIR / "mail")
EMAIL_IS_SET = bool(environment.text("EMAIL_URL"))
# Mails of background tasks get their Message-IDs before they reach the backend that sends them.
EMAIL_BACKEND = "records.operations.mails.MailBackend"
EMAIL_SENDER: str = _email["EMAIL_BACKEND"]
EMAIL_FILE_PATH: str | None = _email.get("EMAIL_FILE_PATH")
EMAIL_HOST: str = _email.get("EMAIL_HOST", "localhost")
EMAIL_PORT: int = _email.get("EMAIL_PORT", 25)
EMAIL_HOST_USER: str = _email.get("EMAIL_HOST_USER", "")
EMAIL_HOST_PASSWORD: str = _email.get("EMAIL_HOST_PASSWORD", "")
EMAIL_USE_SSL: bool = _email.get("EMAIL_USE_SSL", False)
EMAIL_USE_TLS: bool = _email.get("EMAIL_USE_TLS", False)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = SERVER_EMAIL = environment.text("EMAIL_FROM", f"Larder <larder@{_host}>")

# Tasks are rows of the database, queued in the transaction that needs them and run by `manage.py db_worker`.
TASKS = {"default": {"BACKEND": "records.operations.mails.TaskBackend"}}
# Tasks that the worker enqueues regularly: their dotted path and the interval.
REGULAR_JOBS = {
    "records.operations.housekeeping.clean_up": timedelta(hours=1),
    "records.history.tasks.prove_history": timedelta(days=1),
    "records.files.orphans.sweep": timedelta(days=1),
    "records.reminders.tasks.remind": timedelta(minutes=10),
    "records.packs.tasks.remove_old_packs": timedelta(hours=1),
    "records.accounts.housekeeping.look_after_credentials": timedelta(hours=1),
    "records.webhooks.tasks.clean_up": timedelta(hours=1),
    "records.dashboard.tasks.count_ahead": timedelta(hours=1),
}
# Tasks that the worker enqueues within seconds when there is work: their dotted path and the function that checks.
AWAITED_JOBS = {
    "documents.tasks.send_notices": "documents.tasks.is_waiting",
    "records.reminders.tasks.send_reminders": "records.reminders.tasks.is_waiting",
    "records.webhooks.tasks.deliver": "records.webhooks.tasks.is_waiting",
}
# Whether webhooks may use plain http addresses, private networks and this machine.
WEBHOOK_ALLOW_PRIVATE = environment.switch("WEBHOOK_ALLOW_PRIVATE", default=False)

# --- The JSON interface ---------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    # A view that names no permission refuses everybody.
    "DEFAULT_PERMISSION_CLASSES": ["records.operations.permissions.DenyAll"],
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "records.operations.schema.OperationSchema",
    "EXCEPTION_HANDLER": "records.operations.errors.handle_exception",
}
# SPECTACULAR_SETTINGS, which is imported above, describes this interface.

# --- Logs: one JSON object a line on stderr -------------------------------------------------------------------------

# Statements of a request or a task that take this many milliseconds or longer are logged, without values; 0: none.
SLOW_STATEMENT_MS = environment.integer("SLOW_STATEMENT_MS", 500 if PRODUCTION else 0, minimum=0)
LOG_LEVEL = environment.choice("LOG_LEVEL", ("debug", "info", "warning", "error"), "info").upper()
LOGGING = logging_at(LOG_LEVEL)

# --- Traces for OpenTelemetry ---------------------------------------------------------------------------------------

TRACES_URL = environment.collector("OTEL_EXPORTER_OTLP_ENDPOINT")
TRACES_SERVICE = environment.text("OTEL_SERVICE_NAME", "larder")
TRACER = "config.tracing.start" if TRACES_URL else ""

# --- The last word --------------------------------------------------------------------------------------------------

if PRODUCTION:
    if not HTTPS:
        environment.fault("BASE_URL must be an https address in production.")
    if DEBUG:
        environment.fault("DEBUG must be off in production.")
    if "*" in ALLOWED_HOSTS:
        environment.fault("ALLOWED_HOSTS must name hosts in production, not *.")
    if SECRET_KEY and SECRET_KEY in CREDENTIAL_PEPPERS:
        environment.fault("CREDENTIAL_PEPPERS must not contain the SECRET_KEY.")
if OIDC_ISSUER and not (environment.text("OIDC_CLIENT_ID") and environment.text("OIDC_CLIENT_SECRET")):
    environment.fault("OIDC_ISSUER needs OIDC_CLIENT_ID and OIDC_CLIENT_SECRET.")
if OIDC_ISSUER and not OIDC_ISSUER.startswith("https://" if PRODUCTION else ("https://", "http://")):
    environment.fault("OIDC_ISSUER must be an https address.")
if not (PASSWORD_SIGN_IN or OIDC_ISSUER):
    environment.fault("PASSWORD_SIGN_IN can only be off where OIDC_ISSUER is set: nobody could sign in.")
environment.refuse_if_faulty()
make_private_folder(DATA_DIR)
