"""Which handler the server gives a request to."""

import base64
import ipaddress
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
from django.core import signals
from django.db import close_old_connections
from django.http import Http404
from django.template import engines
from django.utils.translation import trans_real
from gunicorn.http.wsgi import FileWrapper
from reportlab.pdfbase import pdfmetrics

from config import urls, wsgi
from records.dashboard.printing import fonts
from records.files import downloads
from records.operations import middleware, paths
from records.sites.models import Site
from tests import make
from tests.make.attachments import make_attachment

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _open_connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave the test's connection open when a request starts or ends, as Django's test client does."""
    monkeypatch.setattr(middleware, "close_old_connections", lambda: None)
    for signal in (signals.request_started, signals.request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (signals.request_started, signals.request_finished):
        signal.connect(close_old_connections)


def call(path: str, **environ: Any) -> tuple[int, dict[str, str], bytes]:
    """Send a GET through the WSGI application and return status, headers and body."""
    full_environ: dict[str, Any] = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "10.0.0.5",
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(),
        **environ,
    }
    response: dict[str, Any] = {}

    def start_response(status: str, headers: list[tuple[str, str]], *_: Any) -> None:
        response.update(status=int(status[:3]), headers=dict(headers))

    answer: Any = wsgi.application(full_environ, start_response)
    body = b"".join(answer)
    if hasattr(answer, "close"):
        answer.close()
    return response["status"], response["headers"], body


@pytest.mark.django_db
def test_an_interface_is_answered_in_front_of_djangos_handler(monkeypatch: Any) -> None:
    monkeypatch.setattr(wsgi, "django_application", None)
    status, headers, body = call("/employee/GetEmployeeList")
    assert (status, headers["Content-Type"]) == (401, "application/json")
    assert headers["X-Request-Id"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert b"Unauthorized" in body
    assert call("/scim/Users")[0] == 401
    assert call("/employee/Nowhere")[0] == 404
    assert call("/healthz")[0] == 200


@pytest.mark.django_db
def test_a_page_passes_through_every_middleware() -> None:
    status, headers, _ = call("/admin/")
    assert status == 302
    assert "Content-Security-Policy" in headers
    assert headers["X-Api-Version"] == middleware.VERSION


def test_templates_texts_and_fonts_are_loaded_before_the_first_person_comes() -> None:
    engine: Any = engines["django"]
    (loader,) = engine.engine.template_loaders
    loader.reset()
    catalogs: Any = vars(trans_real)["_translations"]
    catalogs.clear()
    wsgi.prepare_pages()
    templates = {"dashboard/start.html", "dashboard/monthly.html", "admin/base.html", "dashboard/charts/rows.svg"}
    assert templates <= loader.get_template_cache.keys()
    assert set(catalogs) >= {"en", "de"}
    assert fonts.PLAIN in pdfmetrics.getRegisteredFontNames()


@pytest.mark.django_db
def test_an_unknown_path_answers_in_the_envelope() -> None:
    status, headers, body = call("/nowhere")
    assert (status, headers["Content-Type"]) == (404, "application/json")
    assert b'"NotFound"' in body


@pytest.mark.django_db
def test_a_trusted_proxy_names_the_sender_of_an_interfaces_request(settings: Any, monkeypatch: Any) -> None:
    settings.TRUSTED_PROXIES = [ipaddress.ip_network("10.0.0.0/8")]
    addresses: list[str] = []
    monkeypatch.setattr(
        "records.operations.limits.note_wrong_credential", lambda request: addresses.append(request.META["REMOTE_ADDR"])
    )
    key = {"HTTP_OCP_APIM_SUBSCRIPTION_KEY": "lk_wrong", "HTTP_X_FORWARDED_FOR": "198.51.100.1"}
    assert call("/employee/GetEmployeeList", **key)[0] == 401
    assert addresses == ["198.51.100.1"]


@pytest.mark.django_db
def test_files_are_sent_in_pieces_and_closed(site: Site, monkeypatch: Any) -> None:
    files: list[Any] = []
    open_file = downloads.open_file

    def record_open(row: Any) -> Any:
        files.append(open_file(row))
        return files[-1]

    monkeypatch.setattr(downloads, "open_file", record_open)
    row = make_attachment(site, content=b"Wash your hands.")
    key = {"HTTP_OCP_APIM_SUBSCRIPTION_KEY": make.make_key(site).secret}
    path = f"/attachment/GetAttachment/{row.pk}"
    status, headers, body = call(path, QUERY_STRING="WithContent=true&WithURL=true", **key)
    assert status == 200
    shape = orjson.loads(body)
    assert base64.b64decode(shape["FileContent"]) == b"Wash your hands."
    assert headers["Content-Length"] == str(len(body))
    url = urlsplit(shape["FileURL"])
    address = {"QUERY_STRING": url.query}
    assert call(url.path, **address)[::2] == (200, b"Wash your hands.")
    assert call(url.path, HTTP_RANGE="bytes=5-8", **address)[::2] == (206, b"your")
    assert call(url.path, REQUEST_METHOD="HEAD", **address)[::2] == (200, b"")
    assert len(files) == 4
    assert all(file.closed for file in files)


@pytest.mark.django_db
def test_a_file_is_handed_to_the_server_which_sends_it_from_its_place(site: Site) -> None:
    row = make_attachment(site, content=b"Wash your hands.")
    key = {"HTTP_OCP_APIM_SUBSCRIPTION_KEY": make.make_key(site).secret}
    shape = orjson.loads(call(f"/attachment/GetAttachment/{row.pk}", QUERY_STRING="WithURL=true", **key)[2])
    path = urlsplit(shape["FileURL"]).path
    positions: list[tuple[int, int]] = []
    files: list[Any] = []

    class Wrapper(FileWrapper):
        def __init__(self, file: Any, size: int) -> None:
            positions.append((os.fstat(file.fileno()).st_size, file.tell()))
            files.append(file)
            super().__init__(file, size)

    with_wrapper = {"wsgi.file_wrapper": Wrapper}
    assert call(path, **with_wrapper)[::2] == (200, b"Wash your hands.")
    assert call(path, HTTP_RANGE="bytes=5-8", **with_wrapper)[::2] == (206, b"your")
    assert call(path, REQUEST_METHOD="HEAD", **with_wrapper)[::2] == (200, b"")
    assert positions == [(16, 0), (16, 5)]
    assert all(file._file.closed for file in files)


def test_the_first_parts_of_paths_come_from_the_url_configuration() -> None:
    assert {"employee", "materials", "scim", "prodscim", "oauth", "healthz"} <= paths._first_parts("interfaces")
    assert {"admin", "profile", "accounts", "docs"} <= paths._first_parts("pages")
    assert not paths._first_parts("interfaces") & paths._first_parts("pages")
    assert len(urls.urlpatterns) == len(urls.interfaces) + len(urls.pages)
    assert paths.is_interface("/materials")
    assert paths.is_interface("/scim/Users/x")
    assert not paths.is_interface("/materialsX")
    assert not paths.is_page("/")


def test_the_server_starts_without_the_libraries_that_only_some_requests_need(tmp_path: Path) -> None:
    needless = (
        "{'openpyxl', 'scim2_models', 'reportlab', 'allauth.account.views', 'records.items.admin',"
        " 'confusable_homoglyphs', 'cryptography', 'rest_framework.serializers', 'rest_framework.views'}"
    )
    code = f"import sys, config.wsgi; print(sorted({needless} & sys.modules.keys()))"
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), "ENV_FILE": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("path", "view", "arguments"),
    [
        ("/employee/GetEmployee/{id}", "GetEmployee", {"id": "{id}"}),
        ("/employee/GetEmployee/{id}/", "GetEmployee", {"id": "{id}"}),
        ("/employee/GetEmployee/E-1", "GetEmployee", {"id": "E-1"}),
        ("/employee/GetEmployeeList", "GetEmployeeList", {}),
        ("/materials/{id}", "GetMaterialById", {"id": "{id}"}),
        ("/materials/{id}/{id}", "GetMaterialById", {"id": "{id}/{id}"}),
        ("/materials/x{id}/y", "GetMaterialById", {"id": "x{id}/y"}),
    ],
)
def test_a_path_leads_to_its_view_with_its_own_id(path: str, view: str, arguments: dict[str, str]) -> None:
    for key in (str(uuid.uuid4()), str(uuid.uuid4()).upper(), paths._ANY_ID):
        actual_view, _, actual_arguments = paths.view_at(path.format(id=key))
        assert actual_arguments == {name: value.format(id=key) for name, value in arguments.items()}
        assert view in {operation.name for operation in actual_view.initkwargs["operations"].values()}  # type: ignore[attr-defined]


def test_a_path_with_an_id_that_leads_nowhere_is_404() -> None:
    with pytest.raises(Http404):
        paths.view_at(f"/employee/{uuid.uuid4()}")
