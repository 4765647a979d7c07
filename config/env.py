"""The only module that reads the environment: typed accessors that collect every fault before anything starts."""

import ipaddress
import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from config.private_files import make_private_database, read_or_create_secret, weakness

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

WIDEST_NETWORK = {4: 8, 6: 7}
"""The shortest prefixes allowed for a network of proxies: those of 10.0.0.0/8 and fc00::/7, which are private."""
TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"0", "false", "no", "off"})


class Environment:
    """Reads variables by type, and collects all faults instead of stopping at the first.

    A faulty value yields the default, so that reading continues; `refuse_if_faulty()` then reports all faults at once.
    """

    def __init__(self, variables: dict[str, str]) -> None:
        self.variables = variables
        self.faults: list[str] = []

    def fault(self, sentence: str) -> None:
        """Record a reason not to start."""
        self.faults.append(sentence)

    def refuse_if_faulty(self) -> None:
        """Raise ImproperlyConfigured with every recorded fault on a line of its own."""
        if self.faults:
            lines = "".join(f"\n  - {fault}" for fault in self.faults)
            raise ImproperlyConfigured(f"Larder does not start with this environment:{lines}")

    def text(self, name: str, default: str = "") -> str:
        """Return the variable without surrounding spaces; an empty one counts as not set."""
        return self.variables.get(name, "").strip() or default

    def words(self, name: str) -> list[str]:
        """Return the comma-separated parts of a variable."""
        return [part.strip() for part in self.text(name).split(",") if part.strip()]

    def switch(self, name: str, *, default: bool) -> bool:
        """Return a boolean written as on/off, true/false, yes/no or 1/0."""
        value = self.text(name).lower()
        if not value:
            return default
        if value not in TRUE_WORDS | FALSE_WORDS:
            self.fault(f"{name} must be on or off.")
            return default
        return value in TRUE_WORDS

    def integer(self, name: str, default: int, *, minimum: int = 1, maximum: int = 2**31 - 1) -> int:
        """Return a whole number between minimum and maximum."""
        value = self.text(name)
        if not value:
            return default
        # The length is checked first: int() refuses thousands of digits with an error of its own.
        if not (value.isascii() and value.isdigit() and len(value) <= 18 and minimum <= int(value) <= maximum):
            self.fault(f"{name} must be a whole number from {minimum} to {maximum}.")
            return default
        return int(value)

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        """Return one of the allowed words, in lower case."""
        value = self.text(name, default).lower()
        if value not in choices:
            self.fault(f"{name} must be one of {', '.join(choices)}.")
            return default
        return value

    def networks(self, name: str) -> list[Network]:
        """Return addresses and networks, such as `10.0.0.5, 192.168.0.0/24`."""
        networks: list[Network] = []
        for part in self.words(name):
            try:
                network = ipaddress.ip_network(part, strict=False)
            except ValueError:
                self.fault(f"{name} contains {part!r}, which is not an address or a network.")
                continue
            if network.prefixlen < WIDEST_NETWORK[network.version]:
                self.fault(f"{name} contains {part}, which is too large: everybody in it could pretend to be others.")
            networks.append(network)
        return networks

    def base_url(self, default: str) -> SplitResult:
        """Return BASE_URL, which may only be a scheme and a host: links are built by appending paths to it."""
        split = self._split("BASE_URL", self.text("BASE_URL", default).rstrip("/"))
        if split is None or split.scheme not in {"http", "https"} or not split.hostname or "".join(split[2:]):
            self.fault("BASE_URL must look like https://larder.example.com, without a path.")
            return urlsplit(default)
        return split

    def database(self, default_file: Path, *, lock_timeout: int, prepared_statements: bool) -> dict[str, Any]:
        """Return Django's settings for DATABASE_URL; the default is SQLite in `default_file`."""
        url = self.text("DATABASE_URL")
        try:
            database_settings: dict[str, Any] = dict(dj_database_url.parse(url)) if url else {}
        except (ValueError, dj_database_url.UnknownSchemeError):
            self.fault("DATABASE_URL is not the URL of a database such as postgresql://user:password@host:5432/name.")
            database_settings = {}
        if not database_settings:
            database_settings = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(default_file)}
        if database_settings["ENGINE"] == "django.db.backends.sqlite3":
            options = database_settings.get("OPTIONS", {}) | SQLITE_OPTIONS | {"timeout": lock_timeout}
            make_private_database(Path(str(database_settings["NAME"])))
            # Each thread keeps its connection, because opening one takes longer than most reads.
            own_settings = {
                "ENGINE": "config.sqlite",
                "CONN_MAX_AGE": None,
                "OPTIONS": options,
                "TEST": {"NAME": test_file()},
            }
            return database_settings | own_settings
        if database_settings["ENGINE"] != "django.db.backends.postgresql":
            self.fault("DATABASE_URL must name SQLite or PostgreSQL.")
        return postgresql(database_settings, prepared_statements=prepared_statements)

    def replicas(self, *, prepared_statements: bool) -> dict[str, Any]:
        """Return Django's settings for DATABASE_REPLICA_URL under the name "replica"; nothing if it is not set."""
        url = self.text("DATABASE_REPLICA_URL")
        if not url:
            return {}
        database_settings: dict[str, object] = {}
        with suppress(ValueError, dj_database_url.UnknownSchemeError):
            database_settings = dict(dj_database_url.parse(url))
        primary = self.text("DATABASE_URL")
        follows = primary.startswith(("postgresql://", "postgres://")) and url != primary
        if not follows or database_settings.get("ENGINE") != "django.db.backends.postgresql":
            self.fault("DATABASE_REPLICA_URL must name a PostgreSQL server that follows the one of DATABASE_URL.")
            return {}
        # Tests have one database.
        return {
            "replica": postgresql(database_settings, prepared_statements=prepared_statements)
            | {"TEST": {"MIRROR": "default"}}
        }

    def counts_cache(self, folder: Path) -> dict[str, Any]:
        """Return Django's settings for the cache of what is counted, which new processes find: Redis, or a folder."""
        if self.text("CACHE_URL"):
            return self.cache()
        return {
            "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
            "LOCATION": folder,
            "OPTIONS": {"MAX_ENTRIES": 2000},
        }

    def cache(self) -> dict[str, Any]:
        """Return Django's settings for CACHE_URL: Redis, or the memory of each process."""
        url = self.text("CACHE_URL")
        if not url:
            # Django's default of 300 entries would drop rate-limit counters at the first busy minute.
            return {"BACKEND": "config.memory_cache.MemoryCache", "OPTIONS": {"MAX_ENTRIES": 100_000}}
        if not url.startswith(("redis://", "rediss://", "unix://")):
            self.fault("CACHE_URL must look like redis://host:6379/0.")
        self._require("CACHE_URL", "redis", "redis")
        return {
            "BACKEND": "config.cache.ReliableRedisCache",
            "LOCATION": url,
            "KEY_PREFIX": "larder",
            # A cache that does not answer must not delay requests.
            "OPTIONS": {"socket_connect_timeout": 0.5, "socket_timeout": 0.5},
        }

    def storage(self, default_folder: Path) -> dict[str, Any]:
        """Return Django's settings for STORAGE_URL: a local folder, or a bucket as `s3://bucket/prefix?region=…`.

        The URL may contain the credentials of a bucket; otherwise boto3 reads its own AWS_… variables.
        """
        url = self.text("STORAGE_URL", default_folder.as_uri())
        split = self._split("STORAGE_URL", url)
        if split is None or split.scheme not in {"file", "s3"}:
            self.fault("STORAGE_URL must look like file:///srv/larder/files or s3://bucket/prefix?region=eu-central-1.")
            split = urlsplit(default_folder.as_uri())
        if split.scheme == "file":
            return {
                "BACKEND": "django.core.files.storage.FileSystemStorage",
                "OPTIONS": {
                    "location": unquote(split.path),
                    "base_url": None,
                    "file_permissions_mode": 0o600,
                    "directory_permissions_mode": 0o700,
                },
            }
        self._require("STORAGE_URL", "storages", "s3")
        if not split.hostname:
            self.fault("STORAGE_URL names no bucket.")
        query = {name: values[-1] for name, values in parse_qs(split.query).items()}
        options = {
            "bucket_name": split.hostname,
            "location": unquote(split.path).strip("/"),
            "access_key": unquote(split.username) if split.username else None,
            "secret_key": unquote(split.password) if split.password else None,
            "region_name": query.pop("region", None),
            "endpoint_url": query.pop("endpoint_url", None),
            "file_overwrite": False,
            "default_acl": None,
        }
        for name in query:
            self.fault(f"STORAGE_URL has the unknown part {name!r}; known are region and endpoint_url.")
        return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}

    def email(self, default_folder: Path) -> dict[str, Any]:
        """Return Django's EMAIL_… settings for EMAIL_URL; if it is not set, mails become files in `default_folder`."""
        url = self.text("EMAIL_URL")
        backends = "django.core.mail.backends"
        if not url:
            return {"EMAIL_BACKEND": f"{backends}.filebased.EmailBackend", "EMAIL_FILE_PATH": str(default_folder)}
        split = self._split("EMAIL_URL", url)
        match split.scheme if split else "":
            case "console":
                return {"EMAIL_BACKEND": f"{backends}.console.EmailBackend"}
            case "file" if split:
                return {"EMAIL_BACKEND": f"{backends}.filebased.EmailBackend", "EMAIL_FILE_PATH": unquote(split.path)}
            case ("smtp" | "smtps" | "smtp+tls") as scheme if split and split.hostname:
                return {
                    "EMAIL_BACKEND": f"{backends}.smtp.EmailBackend",
                    "EMAIL_HOST": split.hostname,
                    "EMAIL_PORT": split.port or {"smtp": 25, "smtps": 465, "smtp+tls": 587}[scheme],
                    "EMAIL_HOST_USER": unquote(split.username or ""),
                    "EMAIL_HOST_PASSWORD": unquote(split.password or ""),
                    "EMAIL_USE_SSL": scheme == "smtps",
                    "EMAIL_USE_TLS": scheme == "smtp+tls",
                    "EMAIL_TIMEOUT": 10,
                }
        self.fault(
            "EMAIL_URL must look like smtp+tls://user:password@host:587, smtps://…, smtp://…, file:///… or console://."
        )
        return {"EMAIL_BACKEND": f"{backends}.filebased.EmailBackend", "EMAIL_FILE_PATH": str(default_folder)}

    def collector(self, name: str) -> str:
        """Return the address of the collector of traces, which takes OTLP over HTTP; empty for none."""
        url = self.text(name)
        if url:
            if not url.startswith(("http://", "https://")):
                self.fault(f"{name} must look like http://collector.example.com:4318.")
            self._require(name, "opentelemetry.exporter.otlp.proto.http", "otel")
        return url

    def secret(self, name: str, path: Path | None) -> str:
        """Return a secret from the environment, or the one that was made on the first run and stored in `path`.

        Without a file to store it in (production), a missing or weak secret is a fault.
        """
        value = self.text(name)
        if value:
            weak = next((fault for part in value.split(",") if (fault := weakness(part.strip()))), "")
            if path is None and weak:
                self.fault(f"{name} {weak}.")
            return value
        if path is None:
            self.fault(f"{name} is missing.")
            return ""
        try:
            return read_or_create_secret(path)
        except (OSError, ValueError) as problem:
            self.fault(f"{name} is missing, and the stored one cannot be created or read: {problem}.")
            return ""

    def _split(self, name: str, url: str) -> SplitResult | None:
        """Return the parts of a URL; if its host or port cannot be read, record a fault and return None."""
        try:
            split = urlsplit(url)
            _ = split.port
        except ValueError:
            self.fault(f"{name} has a host or port that cannot be read.")
            return None
        return split

    def _require(self, name: str, module: str, extra: str) -> None:
        try:
            __import__(module)
        except ImportError:
            self.fault(f"{name} needs the packages of the extra {extra!r} in pyproject.toml.")


def postgresql(database_settings: dict[str, Any], *, prepared_statements: bool) -> dict[str, object]:
    """Return Django's settings for a PostgreSQL server, from those that its URL gives."""
    options = {
        "connect_timeout": 2,
        # A network that drops packets silently is noticed within 20 to 30 seconds.
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
        # With server-side binding and a prepared statement, a repeated query takes a third of the time of
        # client-side binding. A pooler in transaction mode gives each transaction another connection, on which a
        # prepared statement is unknown.
        "server_side_binding": True,
        "prepare_threshold": 5 if prepared_statements else None,
    }
    return database_settings | {
        "ENGINE": "config.postgresql",
        # Each thread keeps its connection, which is checked before it is used again.
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "DISABLE_SERVER_SIDE_CURSORS": not prepared_statements,
        "OPTIONS": options | database_settings.get("OPTIONS", {}),
    }


SQLITE_OPTIONS = {
    # A transaction that first reads and then writes would fail at once if another one wrote in between.
    "transaction_mode": "IMMEDIATE",
    # Records are evidence: a confirmed commit must survive a power cut, which WAL guarantees only with FULL.
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL",
}


def provider_id(issuer: str) -> str:
    """Return the part of our URLs that identifies an OpenID Connect issuer, such as `login.example.com-tenant`."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", issuer.partition("://")[2]).strip("-")[:180] or "none"


def test_file() -> str:
    """Return a file for the test database; threads with IMMEDIATE transactions cannot share one in memory.

    The process id keeps two test runs on one machine apart.
    """
    return str(Path(tempfile.gettempdir()) / f"larder-test-{os.getpid()}.sqlite3")


def read_file(path: Path) -> dict[str, str]:
    """Return the NAME=value lines of a file like .env.example; nothing if there is no such file."""
    if not path.is_file():
        return {}
    variables = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, separator, value = line.strip().removeprefix("export ").partition("=")
        if separator and not name.startswith("#"):
            variables[name.strip()] = _without_quotes(value.strip())
    return variables


def _without_quotes(value: str) -> str:
    is_quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value


def load(base_dir: Path) -> Environment:
    """Return the process's environment, completed by the file `.env` (or ENV_FILE); the process has precedence."""
    variables = dict(os.environ)
    return Environment(read_file(base_dir / variables.get("ENV_FILE", ".env")) | variables)
