"""The files under deploy/ name only settings and metrics that the code has."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.apps import apps
from django.conf import settings
from django.urls import get_resolver

from config.server.limits import BESIDE_THE_FILE, SEVERAL_FILES, largest_body
from deploy.site.settings_page import settings_read

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))


def documents(*files: Path) -> list[dict[str, Any]]:
    """Return the documents in YAML files."""
    return [document for file in files for document in yaml.safe_load_all(file.read_text(encoding="utf-8")) if document]


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the pod of each workload."""
    for document in documents(*MANIFESTS):
        spec = document.get("spec", {})
        template = spec.get("template") or spec.get("jobTemplate", {}).get("spec", {}).get("template")
        if template:
            yield document["metadata"]["name"], template["spec"]


def metrics_of_the_code() -> set[str]:
    """Return the names of the metrics in config/metrics.py, as Prometheus shows them."""
    source = (ROOT / "config" / "metrics.py").read_text(encoding="utf-8")
    names = set(re.findall(r'"(larder_\w+)"', source))
    counters = set(re.findall(r'Counter(?:MetricFamily)?\(\s*"(larder_\w+)"', source))
    histograms = set(re.findall(r'Histogram\(\s*"(larder_\w+)"', source))
    return (
        (names - counters - histograms)
        | {f"{name}_total" for name in counters}
        | {f"{name}_{end}" for name in histograms for end in ("bucket", "count", "sum")}
    )


@pytest.mark.parametrize(
    "file", ["prometheus/alerts.yaml", "grafana/larder.json", "kubernetes/autoscaling-metric.yaml"]
)
def test_alerts_dashboard_and_autoscaling_use_metrics_that_exist(file: str) -> None:
    text = (DEPLOY / file).read_text(encoding="utf-8")
    # The last part is a metric that the rule itself makes, and names chosen by a pattern.
    used = set(re.findall(r"\blarder_\w+", text)) - {"larder_threads_busy_ratio", "larder_"}
    assert used
    assert used - metrics_of_the_code() == set()


def test_a_history_with_faults_raises_an_alert_also_while_it_is_verified_every_day() -> None:
    (group,) = documents(DEPLOY / "prometheus" / "alerts.yaml")[0]["groups"]
    (rule,) = (rule for rule in group["rules"] if rule["expr"] == "larder_proof_faults > 0")
    assert rule["labels"] == {"severity": "page"}


def test_the_runbook_says_what_to_do_at_each_alert() -> None:
    (group,) = documents(DEPLOY / "prometheus" / "alerts.yaml")[0]["groups"]
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    section = page.partition("\n## When something is wrong\n")[2].partition("\n## ")[0]
    assert {rule["annotations"]["runbook"] for rule in group["rules"]} == {
        'docs/operations.md, "When something is wrong"'
    }
    assert [rule["alert"] for rule in group["rules"] if f"`{rule['alert']}`" not in section] == []


def test_the_dashboard_is_the_one_that_its_script_writes() -> None:
    from deploy.grafana.make_dashboard import DASHBOARD

    assert json.loads((DEPLOY / "grafana" / "larder.json").read_text(encoding="utf-8")) == DASHBOARD


def test_the_autoscaler_uses_the_metric_that_the_rule_makes() -> None:
    (scaler,) = (document for document in documents(*MANIFESTS) if document["kind"] == "HorizontalPodAutoscaler")
    (rules,) = documents(DEPLOY / "kubernetes" / "autoscaling-metric.yaml")
    metrics = {rule["name"]["as"] for rule in yaml.safe_load(rules["data"]["config.yaml"])["rules"]}
    used = {metric["pods"]["metric"]["name"] for metric in scaler["spec"]["metrics"] if "pods" in metric}
    assert used == metrics


def test_manifests_and_examples_set_only_variables_that_the_code_reads() -> None:
    (settings,) = (
        document["data"]
        for document in documents(DEPLOY / "kubernetes" / "larder.yaml")
        if document["kind"] == "ConfigMap"
    )
    example = (DEPLOY / "compose.env.example").read_text(encoding="utf-8")
    units = "".join(file.read_text(encoding="utf-8") for file in (DEPLOY / "systemd").iterdir())
    set_there = {
        *settings,
        *re.findall(r"^#?([A-Z][A-Z0-9_]+)=", example, re.MULTILINE),
        *re.findall(r"^Environment=([A-Z][A-Z0-9_]+)=", units, re.MULTILINE),
    }
    assert set_there - set(settings_read(ROOT)) - {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"} == set()


@pytest.mark.parametrize(("name", "pod"), list(pods()), ids=lambda value: value if isinstance(value, str) else "")
def test_each_pod_runs_without_rights_and_with_a_root_that_it_cannot_write(name: str, pod: dict[str, Any]) -> None:
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    volumes = {volume["name"] for volume in pod["volumes"]}
    for container in pod["containers"]:
        rights = container["securityContext"]
        assert rights["readOnlyRootFilesystem"] is True
        assert rights["allowPrivilegeEscalation"] is False
        assert rights["capabilities"] == {"drop": ["ALL"]}
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes


def test_there_is_each_part_that_an_installation_needs() -> None:
    kinds = {(document["kind"], document["metadata"]["name"]) for document in documents(*MANIFESTS)}
    assert {
        ("Deployment", "larder-web"),
        ("Deployment", "larder-worker"),
        ("Job", "larder-migrate"),
        ("CronJob", "larder-backup"),
        ("PodDisruptionBudget", "larder-web"),
        ("PodDisruptionBudget", "larder-worker"),
        ("HorizontalPodAutoscaler", "larder-web"),
        ("Ingress", "larder"),
    } <= kinds


def test_an_image_and_a_release_hold_each_folder_that_the_product_reads() -> None:
    templates: Any = settings.TEMPLATES[0]["DIRS"]
    folders = [*settings.LOCALE_PATHS, *settings.STATICFILES_DIRS, *templates]
    folders += [app.path for app in apps.get_app_configs()]
    names = {Path(folder).relative_to(ROOT).parts[0] for folder in folders if ROOT in Path(folder).parents}
    names = {"config", "manage.py", *names} - {".venv"}
    assert names > {"locale", "static", "templates", "records", "scim"}
    image = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    assert names - set(re.findall(r"\w[\w./]*", " ".join(re.findall(r"^COPY (.*)$", image, re.MULTILINE)))) == set()
    assert names - set(re.findall(r"^!(\S+)$", (ROOT / ".containerignore").read_text("utf-8"), re.MULTILINE)) == set()
    parts = re.search(r"for part in (.*); do", (DEPLOY / "release.sh").read_text(encoding="utf-8"))
    assert parts is not None
    links = re.findall(r"\]\(([\w.-]+)[^):]*\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert {*names, *links} - set(parts[1].split()) == set()


def test_compose_says_what_to_prepare() -> None:
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    head, _, body = text.partition("\nname: larder\n")
    outside = set(re.findall(r"\b(?:env_file|file): (?:\./)?(\S+)$", body, re.MULTILINE))
    outside |= {f"{folder}/" for folder in re.findall(r"- \./(\w+):/", body)}
    assert outside >= {"compose.env", "files.env", "tls/", "keys/"}
    assert [name for name in sorted(outside) if f"#   {name}" not in head] == []


def test_the_proxies_let_through_every_body_that_larder_takes() -> None:
    site = (DEPLOY / "nginx" / "larder.conf").read_text(encoding="utf-8")
    limits = [int(size) * 2**20 for size in re.findall(r"client_max_body_size (\d+)m;", site)]
    several = re.search(r"location ~ (\S+) \{\n\s+client_max_body_size", site)
    assert several is not None
    assert all(re.search(several[1], f"{start}x") for start in SEVERAL_FILES)
    form = settings.FORM_FILES_LIMIT + BESIDE_THE_FILE
    assert limits[0] >= max(largest_body("/document/AddDocument", {}), settings.FILE_SIZE_LIMIT + BESIDE_THE_FILE)
    assert limits[1] >= form
    (ingress,) = (document for document in documents(*MANIFESTS) if document["kind"] == "Ingress")
    size = ingress["metadata"]["annotations"]["nginx.ingress.kubernetes.io/proxy-body-size"]
    assert int(size.removesuffix("m")) * 2**20 >= form


def routes(patterns: Any, start: str = "") -> Iterator[str]:
    """Yield the route of each page and operation, with its converters."""
    for one in patterns:
        route = f"{start}{one.pattern}"
        yield from routes(one.url_patterns, route) if hasattr(one, "url_patterns") else (route,)


def test_the_sample_proxy_offers_only_new_tls_with_forward_secrecy_and_authenticated_encryption() -> None:
    proxy = (DEPLOY / "nginx" / "larder.conf").read_text(encoding="utf-8")
    assert re.findall(r"ssl_protocols ([^;]+);", proxy) == ["TLSv1.2 TLSv1.3"]
    (suites,) = re.findall(r"ssl_ciphers ([^;]+);", proxy)
    assert all(re.fullmatch("ECDHE\\+(AESGCM|CHACHA20)", suite) for suite in suites.split(":"))
    assert "ssl_session_tickets off;" in proxy


def test_no_log_of_the_proxy_holds_an_address_that_is_a_credential() -> None:
    proxy = (DEPLOY / "nginx" / "larder.conf").read_text(encoding="utf-8")
    (log_format,) = re.findall(r"log_format [^;]+;", proxy)
    url_variables = {"$uri", "$request_uri", "$document_uri", "$request", "$args", "$query_string", "$http_referer"}
    assert not url_variables.intersection(re.findall(r"\$\w+", log_format))
    ((beginning, block),) = re.findall(r"location ~\* (\S+) \{(.*?)\n    \}", proxy, re.DOTALL)
    assert {line.strip() for line in block.splitlines()} >= {"set $larder_path $1;", "error_log /dev/null;"}
    paths = [f"/{route}" for route in routes(get_resolver().url_patterns)]
    secret = [route for route in paths if re.search(r"<(\w+:)?(token|secret)>", route)]
    assert len(secret) >= 5
    for route in secret:
        match = re.match(beginning, route)
        assert match, route
        assert "<" not in match[1]
