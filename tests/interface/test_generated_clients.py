"""Clients that others generate from the OpenAPI document, in Python and TypeScript, make real calls."""

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

from records.employees.models import Employee
from tests import make
from tests.make.materials import MaterialApi, make_api

TOP = Path(__file__).resolve().parent.parent.parent
MODULES = TOP / "build" / "node" / "node_modules"
"""Where `make node` installs the packages at their locked versions."""
PACKAGES = ("openapi-typescript", "openapi-fetch", "typescript")
STRICT = {
    "strict": True,
    "noUncheckedIndexedAccess": True,
    "exactOptionalPropertyTypes": True,
    "noImplicitOverride": True,
    "noFallthroughCasesInSwitch": True,
    "noUnusedLocals": True,
    "skipLibCheck": False,
    "target": "ES2022",
    "lib": ["ES2022", "DOM", "DOM.Iterable"],
    "module": "ESNext",
    "moduleResolution": "Bundler",
    "types": [],
}


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the document as a file."""
    file = tmp_path_factory.mktemp("document") / "openapi.json"
    file.write_text(json.dumps(SchemaGenerator().get_schema(public=True), default=str))
    return file


@pytest.fixture(scope="module")
def package(document: Path) -> Iterator[str]:
    """Generate the Python client, make it importable and return its name."""
    command = shutil.which("openapi-python-client", path=str(Path(sys.executable).parent))
    assert command, "openapi-python-client is not installed."
    folder = document.parent
    output = ["--meta", "none", "--output-path", str(folder / "made_client")]
    run(command, "generate", "--path", str(document), *output, cwd=folder)
    sys.path.insert(0, str(folder))
    yield "made_client"
    sys.path.remove(str(folder))


def run(*command: str, cwd: Path) -> str:
    """Carry out a command that must succeed and return what it printed."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def caller(db: None) -> MaterialApi:
    """Return a Manager at a site, with a key and a token."""
    return make_api(make.make_site())


@pytest.mark.django_db(transaction=True)
def test_the_python_client_works_with_employees_and_materials(
    package: str, caller: MaterialApi, live_server: Any
) -> None:
    models = importlib.import_module(f"{package}.models")

    def operation(tag: str, name: str) -> Any:
        return importlib.import_module(f"{package}.api.{tag}.{name}")

    credentials = {"Ocp-Apim-Subscription-Key": caller.holder.secret}
    client = importlib.import_module(f"{package}.client").AuthenticatedClient(
        base_url=live_server.url, token=caller.token, headers=credentials
    )
    with client:
        names = {"first_name": "Ada", "last_name": "Baker", "nature_of_employment_id": str(make.nature().pk)}
        body = models.EmployeeRequest(**names, position="Baker")
        check = operation("employee", "add_employee").sync(client=client, body=body, validate_only=True)
        assert (check.message, check.id) == ("Valid.", ""), check
        add = operation("employee", "add_employee").sync(client=client, body=body)
        assert (add.error, add.message) == ("", "Success."), add
        read = operation("employee", "get_employee").sync(id=add.id, client=client)
        assert (read.position, read.date_of_birth, read.education_training) == ("Baker", None, [])
        training = models.EducationTrainingRequest(title="HACCP", year="2024")
        change = models.EmployeeChangeRequest(**names, position="Shift lead", education_training=[training])
        update = operation("employee", "update_employee").sync(id=add.id, client=client, body=change)
        assert update.message == "Success.", update
        (row,) = operation("employee", "get_employee_list").sync(client=client, limit=10)
        assert (row.id, row.position, row.education_training[0].title) == (read.id, "Shift lead", "HACCP")
        error = operation("employee", "add_employee").sync(
            client=client, body=models.EmployeeRequest(**{**names, "first_name": ""}, position="Baker")
        )
        assert (error.error, error.fields[0].field) == ("ValidationFailed", "FirstName")

        site_id = str(caller.site.pk)
        post = operation("materials", "post_material")
        one = post.sync(
            client=client, body=models.MaterialRequest(external_id="G-1", name="Generated"), site_id=site_id
        )
        assert one.message == "Success.", one
        rows = [models.MaterialRequest(external_id=f"G-{number}", name="Generated") for number in (1, 2)]
        assert [str(row.outcome) for row in post.sync(client=client, body=rows, site_id=site_id)] == [
            "Unchanged",
            "Added",
        ]
        materials = operation("materials", "get_list_of_material").sync(client=client, site_id=site_id)
        assert [(row.external_id, row.name) for row in materials] == [("G-1", "Generated"), ("G-2", "Generated")]
    assert Employee.objects.get().position == "Shift lead"


@pytest.mark.django_db(transaction=True)
def test_the_typescript_client_compiles_strictly_and_works(
    document: Path, caller: MaterialApi, live_server: Any, tmp_path: Path
) -> None:
    node = shutil.which("node")
    if node is None or not all((MODULES / name).is_dir() for name in PACKAGES):
        pytest.skip("The packages for Node are not installed; `make node` brings them where npm is at hand.")
    (tmp_path / "node_modules").symlink_to(MODULES)
    shutil.copy(Path(__file__).with_name("client.ts"), tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node.d.ts").write_text("declare const process: { argv: string[] };\n")
    files = ["client.ts", "node.d.ts"]
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": STRICT, "files": files}))
    programs = tmp_path / "node_modules" / ".bin"
    run(str(programs / "openapi-typescript"), str(document), "--output", "schema.d.ts", cwd=tmp_path)
    run(str(programs / "tsc"), "--project", "tsconfig.json", cwd=tmp_path)
    arguments = (caller.holder.secret, caller.token, str(caller.site.pk), str(make.nature().pk))
    output = json.loads(run(node, "client.js", live_server.url, *arguments, cwd=tmp_path))
    assert output == {
        "first": "Baker",
        "now": [["Shift lead", ["HACCP"]]],
        "birthday": None,
        "stale": 412,
        "staleError": "PreconditionFailed",
        "one": "Success.",
        "several": ["Unchanged", "Added"],
    }
