"""What the environment may say, and what is refused."""

import os
import re
import runpy
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from django.conf import settings
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.test.utils import override_settings

from config.env import Environment, read_file
from config.private_files import read_or_create_secret

ROOT = Path(__file__).resolve().parents[2]
STRONG = "vU2xQ9-dLr7_wKf0Zb3nTyE8sGhJ4mCp"
PEPPER = "a7f3b9c1d5e8f2046b8d0c9e1f3a5b7d"


GOOD = {
    "ENVIRONMENT": "production",
    "BASE_URL": "https://larder.example.com",
    "EMAIL_URL": "smtp+tls://larder:password@mail.example.com",
    "TRUSTED_PROXIES": "10.0.0.0/8,fd00::/8",
    "SEAL_KEY_FILE": "/run/secrets/larder-seal.pem",
}
SOUND = {**GOOD, "SECRET_KEY": STRONG, "CREDENTIAL_PEPPERS": PEPPER}
"""The least that production needs to start; each case below spoils one of these values."""


def environment_of(tmp_path, variables):
    """Return the environment of an installation in this folder: nothing but the named variables."""
    return {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path / "data"), "ENV_FILE": "", **variables}


def start(tmp_path, code, **variables):
    """Run code in a process of its own, with nothing but the named variables."""
    environment = environment_of(tmp_path, variables)
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)


def settings_of(tmp_path, **variables):
    """Return the settings that the named variables give, read once more in this process; raises their refusal."""
    with patch.dict(os.environ, environment_of(tmp_path, variables), clear=True):
        return SimpleNamespace(**runpy.run_path(str(ROOT / "config" / "settings.py")))


def deployment_warnings(read_settings):
    """Return the ids of what `check --deploy` says of settings that were read."""
    differing = {
        name: value
        for name, value in vars(read_settings).items()
        if name.isupper() and value != getattr(settings, name)
    }
    with override_settings(**{name: value for name, value in differing.items() if name != "DATABASES"}):
        return [message.id for message in run_checks(include_deployment_checks=True) if not message.is_silenced()]


def test_a_local_start_needs_no_variable_and_keeps_its_secrets_for_the_owner_only(tmp_path):
    code = "import config.settings as s; print(s.SECRET_KEY, *s.CREDENTIAL_PEPPERS)"
    first, second = start(tmp_path, code), start(tmp_path, code)
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    secret, pepper = first.stdout.split()
    assert len(secret) >= 50
    assert len(pepper) >= 50
    assert secret != pepper
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "data").iterdir()} == {0o600}
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


def test_a_production_start_passes_every_check_of_deployment(tmp_path):
    code = "from django.core.management import execute_from_command_line as run; run(['', 'check', '--deploy'])"
    secrets = {"SECRET_KEY": f"{STRONG}{PEPPER}", "CREDENTIAL_PEPPERS": PEPPER}
    done = start(tmp_path, code, DJANGO_SETTINGS_MODULE="config.settings", **GOOD, **secrets)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    assert "no issues" in done.stdout


@pytest.mark.parametrize(
    ("variable", "value", "check"),
    [
        ("EMAIL_URL", "", "larder.W002"),
        ("EMAIL_URL", "smtp://user:password@mail.example.com", "larder.W003"),
        ("TRUSTED_PROXIES", "", "larder.W004"),
        ("HSTS_SUBDOMAINS", "off", "security.W005"),
    ],
)
def test_a_setting_that_weakens_an_installation_is_named_by_the_check_of_deployment(
    tmp_path, monkeypatch, variable, value, check
):
    monkeypatch.delenv("DJANGO_ALLOW_ASYNC_UNSAFE", raising=False)  # The tests with a browser set it.
    secrets = {"SECRET_KEY": f"{STRONG}{PEPPER}", "CREDENTIAL_PEPPERS": PEPPER}
    assert deployment_warnings(settings_of(tmp_path, **GOOD, **secrets)) == []
    assert deployment_warnings(settings_of(tmp_path, **{**GOOD, **secrets, variable: value})) == [check]


def test_production_refuses_to_start_and_names_every_fault(tmp_path):
    variables = {
        "ENVIRONMENT": "production",
        "DEBUG": "on",
        "BASE_URL": "http://larder.example.com",
        "ALLOWED_HOSTS": "*",
    }
    done = start(tmp_path, "import config.settings", **variables)
    assert done.returncode != 0
    faults = [line.strip() for line in done.stderr.splitlines() if line.startswith("  - ")]
    assert faults == [
        "- SECRET_KEY is missing.",
        "- CREDENTIAL_PEPPERS is missing.",
        "- BASE_URL must be an https address in production.",
        "- DEBUG must be off in production.",
        "- ALLOWED_HOSTS must name hosts in production, not *.",
    ]
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("variables", "fault"),
    [
        ({"SECRET_KEY": "short"}, "SECRET_KEY is shorter than 32 characters."),
        ({"CREDENTIAL_PEPPERS": f"{PEPPER},short"}, "CREDENTIAL_PEPPERS is shorter than 32 characters."),
        ({"CREDENTIAL_PEPPERS": STRONG}, "CREDENTIAL_PEPPERS must not contain the SECRET_KEY."),
        ({"SECRET_KEY": "a" * 64}, "SECRET_KEY repeats a few characters; make a random one."),
        ({"SECRET_KEY": "abcdefghijkl" * 5 + "abc"}, "SECRET_KEY repeats a few characters; make a random one."),
        (
            {"SECRET_KEY": f"django-insecure-{STRONG}"},
            "SECRET_KEY is a sample from a generator, not a secret of this installation.",
        ),
        (
            {"CREDENTIAL_PEPPERS": f"{PEPPER},{'xy' * 20}"},
            "CREDENTIAL_PEPPERS repeats a few characters; make a random one.",
        ),
        *(
            (
                {"TRUSTED_PROXIES": f"10.0.0.5,{wide}"},
                f"TRUSTED_PROXIES contains {wide}, which is too large: everybody in it could pretend to be others.",
            )
            for wide in ("0.0.0.0/0", "::/0", "128.0.0.0/1", "8.0.0.0/7", "2000::/3")
        ),
        ({"BASE_URL": ""}, "BASE_URL must be an https address in production."),
        ({"ENVIRONMENT": "prod"}, "ENVIRONMENT must be one of local, production."),
    ],
)
def test_production_refuses_one_fault_by_its_name(tmp_path, variables, fault):
    with pytest.raises(ImproperlyConfigured) as error:
        settings_of(tmp_path, **(SOUND | variables))
    assert f"  - {fault}" in str(error.value).splitlines()


def test_production_starts_without_these_faults(tmp_path):
    code = "import config.settings as s; print(s.BASE_URL)"
    assert start(tmp_path, code, **SOUND).stdout == "https://larder.example.com\n"


def test_https_in_the_base_url_makes_cookies_secure(tmp_path):
    for address, secure in (("https://larder.example.com", True), ("", False)):
        read_settings = settings_of(tmp_path, BASE_URL=address)
        assert (secure, secure) == (read_settings.SESSION_COOKIE_SECURE, read_settings.CSRF_COOKIE_SECURE)
        assert (read_settings.SECURE_HSTS_SECONDS > 0) == secure


def test_paths_can_be_appended_to_the_base_url(tmp_path):
    assert settings_of(tmp_path, BASE_URL="https://larder.example.com/").BASE_URL == "https://larder.example.com"


def test_the_base_url_follows_the_port(tmp_path):
    assert settings_of(tmp_path, PORT="8123").BASE_URL == "http://127.0.0.1:8123"


def test_the_process_wins_over_the_file(tmp_path):
    file = tmp_path / "settings.env"
    file.write_text("# a comment\nPORT=8123\nexport RATE_LIMIT='17'\n", encoding="utf-8")
    assert read_file(file) == {"PORT": "8123", "RATE_LIMIT": "17"}
    read_settings = settings_of(tmp_path, ENV_FILE=str(file), PORT="8124")
    assert (read_settings.PORT, read_settings.RATE_LIMIT) == (8124, 17)


def test_processes_that_start_together_keep_one_secret(tmp_path):
    code = "import config.settings as s; print(s.SECRET_KEY)"
    with ThreadPoolExecutor(4) as pool:
        secrets = set(pool.map(lambda _: start(tmp_path, code).stdout, range(4)))
    assert len(secrets) == 1
    assert len(secrets.pop()) > 32


def test_a_secret_that_was_cut_short_is_refused_instead_of_made_anew(tmp_path):
    (tmp_path / "secret_key").write_text("", encoding="ascii")
    with pytest.raises(ValueError, match="secret_key contains no secret"):
        read_or_create_secret(tmp_path / "secret_key")


@pytest.mark.parametrize(
    ("read", "variables", "fault"),
    [
        (lambda e: e.integer("RATE_LIMIT", 300), {"RATE_LIMIT": "many"}, "RATE_LIMIT must be a whole number"),
        (lambda e: e.integer("RATE_LIMIT", 300), {"RATE_LIMIT": "0"}, "RATE_LIMIT must be a whole number"),
        (lambda e: e.integer("RATE_LIMIT", 300), {"RATE_LIMIT": "9" * 5000}, "RATE_LIMIT must be a whole number"),
        (lambda e: e.integer("RATE_LIMIT", 300), {"RATE_LIMIT": "٣"}, "RATE_LIMIT must be a whole number"),
        (lambda e: e.switch("DEBUG", default=False), {"DEBUG": "maybe"}, "DEBUG must be on or off"),
        (lambda e: e.networks("TRUSTED_PROXIES"), {"TRUSTED_PROXIES": "10.0.0.0/8, proxy"}, "'proxy'"),
        (lambda e: e.base_url("http://a"), {"BASE_URL": "https://a/path"}, "without a path"),
        (lambda e: e.base_url("http://a"), {"BASE_URL": "ftp://a"}, "BASE_URL must look like"),
        (lambda e: e.base_url("http://a"), {"BASE_URL": "http://[::1"}, "BASE_URL"),
        (lambda e: e.base_url("http://a"), {"BASE_URL": "http://a:99999"}, "BASE_URL"),
        (lambda e: e.cache(), {"CACHE_URL": "memcached://a"}, "CACHE_URL must look like"),
        (lambda e: e.storage(Path("/files")), {"STORAGE_URL": "ftp://a"}, "STORAGE_URL must look like"),
        (lambda e: e.storage(Path("/files")), {"STORAGE_URL": "s3://"}, "names no bucket"),
        (lambda e: e.storage(Path("/files")), {"STORAGE_URL": "s3://a?regoin=x"}, "'regoin'"),
        (lambda e: e.email(Path("/mail")), {"EMAIL_URL": "smtp://"}, "EMAIL_URL must look like"),
        (lambda e: e.email(Path("/mail")), {"EMAIL_URL": "imap://host"}, "EMAIL_URL must look like"),
        (lambda e: database(e), {"DATABASE_URL": "nonsense"}, "DATABASE_URL is not the URL"),
        (lambda e: database(e), {"DATABASE_URL": "postgres://a:99999/b"}, "DATABASE_URL is not the URL"),
        (lambda e: database(e), {"DATABASE_URL": "mysql://a/b"}, "must name SQLite or PostgreSQL"),
    ],
)
def test_a_faulty_value_is_named_and_stops_the_start(read, variables, fault):
    environment = Environment(variables)
    read(environment)
    with pytest.raises(ImproperlyConfigured) as error:
        environment.refuse_if_faulty()
    assert fault in str(error.value)


def database(environment, lock_timeout=10, prepared_statements=True):
    file = Path("/data/larder.sqlite3")
    return environment.database(file, lock_timeout=lock_timeout, prepared_statements=prepared_statements)


def test_sqlite_waits_for_its_turn_and_survives_a_power_cut():
    options = database(Environment({}))["OPTIONS"]
    assert options["transaction_mode"] == "IMMEDIATE"
    assert options["timeout"] == 10
    assert options["init_command"] == "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL"


def test_an_sqlite_file_is_for_its_owner_only_whether_it_is_new_or_was_there_before(tmp_path):
    code = "import django; django.setup(); from django.db import connection; connection.connect(); input()"
    file = tmp_path / "data" / "larder.sqlite3"
    file.parent.mkdir(mode=0o755)
    for _ in range(2):
        done = start(tmp_path, code, DJANGO_SETTINGS_MODULE="config.settings")
        assert "EOFError" in done.stderr
        assert file.stat().st_mode & 0o777 == 0o600
        file.chmod(0o644)


def test_postgresql_keeps_its_connections_and_the_options_of_its_url():
    settings = database(Environment({"DATABASE_URL": "postgresql://u:p%40@db:6432/larder?sslmode=require"}))
    assert (settings["HOST"], settings["PORT"], settings["NAME"], settings["PASSWORD"]) == ("db", 6432, "larder", "p@")
    assert settings["OPTIONS"]["sslmode"] == "require"
    assert settings["OPTIONS"]["prepare_threshold"] == 5
    assert settings["CONN_MAX_AGE"] is None


def test_a_transaction_pooler_gets_no_prepared_statements_and_no_open_cursors():
    environment = Environment({"DATABASE_URL": "postgresql://u@db/larder"})
    settings = database(environment, prepared_statements=False)
    assert settings["OPTIONS"]["prepare_threshold"] is None
    assert settings["DISABLE_SERVER_SIDE_CURSORS"] is True


def test_a_bucket_is_named_with_its_prefix_region_and_credentials():
    url = "s3://key:secret%2F@bucket/a/prefix?region=eu-central-1&endpoint_url=http://127.0.0.1:9000"
    options = Environment({"STORAGE_URL": url}).storage(Path("/files"))["OPTIONS"]
    assert options == {
        "bucket_name": "bucket",
        "location": "a/prefix",
        "access_key": "key",
        "secret_key": "secret/",
        "region_name": "eu-central-1",
        "endpoint_url": "http://127.0.0.1:9000",
        "file_overwrite": False,
        "default_acl": None,
    }


@pytest.mark.parametrize(
    ("url", "port", "ssl", "tls"),
    [
        ("smtp://mail", 25, False, False),
        ("smtps://mail", 465, True, False),
        ("smtp+tls://mail", 587, False, True),
        ("smtp+tls://mail:2525", 2525, False, True),
    ],
)
def test_mail_goes_out_as_its_url_says(url, port, ssl, tls):
    settings = Environment({"EMAIL_URL": url}).email(Path("/mail"))
    assert (settings["EMAIL_HOST"], settings["EMAIL_PORT"]) == ("mail", port)
    assert (settings["EMAIL_USE_SSL"], settings["EMAIL_USE_TLS"]) == (ssl, tls)


def test_the_example_file_names_every_variable_that_is_read_and_no_other():
    sources = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "config").glob("*.py"))
    read = set(re.findall(r'(?:environment|self)\.\w+\(\s*"([A-Z_]+)"', sources))
    names = set(re.findall(r"^#([A-Z_]+)=", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE))
    # Set by the commands of the Makefile, not by those who run the product.
    assert read - {"STATIC_COLLECTED"} == names


PRIMARY = "postgresql://larder@db.example.com/larder"


def test_a_replica_is_a_database_of_its_own_with_the_limits_of_the_primary():
    environment = Environment({"DATABASE_URL": PRIMARY, "DATABASE_REPLICA_URL": "postgresql://larder@copy:6432/larder"})
    replica = environment.replicas(prepared_statements=False)["replica"]
    assert (replica["ENGINE"], replica["HOST"], replica["PORT"]) == ("config.postgresql", "copy", 6432)
    assert replica["OPTIONS"]["connect_timeout"] == 2
    assert replica["OPTIONS"]["prepare_threshold"] is None
    assert environment.faults == []
    assert Environment({"DATABASE_URL": PRIMARY}).replicas(prepared_statements=True) == {}


@pytest.mark.parametrize(
    ("primary", "replica"),
    [
        (PRIMARY, "sqlite:///copy.sqlite3"),
        (PRIMARY, "no address"),
        (PRIMARY, "postgresql://larder@[copy/larder"),
        (PRIMARY, PRIMARY),
        ("", "postgresql://larder@copy/larder"),
    ],
)
def test_a_replica_that_cannot_follow_the_primary_is_refused(primary, replica):
    environment = Environment({"DATABASE_URL": primary, "DATABASE_REPLICA_URL": replica})
    assert environment.replicas(prepared_statements=True) == {}
    assert len(environment.faults) == 1


def test_the_collector_of_traces_is_an_address():
    environment = Environment({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"})
    environment.collector("OTEL_EXPORTER_OTLP_ENDPOINT")
    assert environment.faults == ["OTEL_EXPORTER_OTLP_ENDPOINT must look like http://collector.example.com:4318."]
