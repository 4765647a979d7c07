"""Write the example dashboard: `python deploy/grafana/make_dashboard.py > deploy/grafana/larder.json`."""

import json
import sys

PANELS = [
    ("Requests a second by status", "sum by (status) (rate(larder_requests_total[5m]))", "reqps"),
    (
        "Slowest answer of 99 in 100",
        "histogram_quantile(0.99, sum by (le) (rate(larder_request_seconds_bucket[5m])))",
        "s",
    ),
    ("Requests a second by operation", "topk(10, sum by (operation) (rate(larder_requests_total[5m])))", "reqps"),
    (
        "Median answer by operation",
        "histogram_quantile(0.5, sum by (le, operation) (rate(larder_request_seconds_bucket[5m])))",
        "s",
    ),
    ("Share of busy threads", "sum(larder_threads_busy) / sum(larder_threads)", "percentunit"),
    ("Requests waiting for a thread", "sum(larder_requests_waiting)", "short"),
    ("Processes that know that the database is unavailable", "sum(larder_breaker_open)", "short"),
    ("Ready (1) or not (0)", "min by (part) (larder_ready)", "short"),
    ("Seconds since the worker's last sign of life", "max(larder_worker_heartbeat_age_seconds)", "s"),
    ("Tasks waiting", "max(larder_tasks_waiting)", "short"),
    (
        "Mails that wait or failed",
        'sum by (task, state) (larder_tasks{task=~".*(mail|invite|notices|reminders).*"})',
        "short",
    ),
    ("Lists by who answered (replica)", "sum by (outcome) (rate(larder_replica_reads_total[5m]))", "reqps"),
    ("Slow statements in 15 minutes", "sum(increase(larder_slow_statements_total[15m]))", "short"),
    ("Webhooks: age of the oldest change not delivered", "max(larder_webhook_backlog_age_seconds)", "s"),
    ("Failed sign-ins in 15 minutes", "sum(increase(larder_failed_sign_ins_total[15m]))", "short"),
    ("Age of proof and backup", '{__name__=~"larder_(proof|backup)_age_seconds"}', "s"),
]


def panel(number: int, title: str, expression: str, unit: str) -> dict[str, object]:
    """Return one panel of the dashboard, two in a row."""
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": title,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "gridPos": {"h": 8, "w": 12, "x": 12 * (number % 2), "y": 8 * (number // 2)},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [{"refId": "A", "expr": expression}],
    }


DASHBOARD = {
    "title": "Larder",
    "uid": "larder",
    "schemaVersion": 39,
    "timezone": "browser",
    "refresh": "30s",
    "time": {"from": "now-6h", "to": "now"},
    "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]},
    "panels": [panel(number, *entry) for number, entry in enumerate(PANELS)],
}

if __name__ == "__main__":
    json.dump(DASHBOARD, sys.stdout, indent=2)
    sys.stdout.write("\n")
