"""The smoke test: every interface through the proxy, as programs, a directory and a person with a browser use it."""

import json
import shutil
import ssl
import time
import urllib.request
from typing import TYPE_CHECKING, Any

from deploy.drill.load import Caller

if TYPE_CHECKING:
    from deploy.drill.__main__ import Drill


def expect(holds: bool, sentence: str) -> None:
    """Raise AssertionError with the sentence where something does not hold."""
    if not holds:
        raise AssertionError(sentence)


def smoke(drill: "Drill", notes: list[str]) -> None:
    """Try every interface through the proxy: JSON with a file, materials with a token, SCIM, and the sign-in page."""
    caller = drill.caller()
    status, body, headers = caller.call("POST", "/item/AddItem", {"Name": "Scale"})
    expect(status == 200, f"AddItem answered {status}: {body}")
    expect("Strict-Transport-Security" in headers, "The answer has no Strict-Transport-Security.")
    file = {"Name": "Plan", "FileType": "text/plain", "FileName": "plan.txt", "FileContent": "cGxhbg=="}
    status, body, _ = caller.call("POST", "/document/AddDocument", file)
    expect(status == 200, f"AddDocument answered {status}: {body}")
    status, body, _ = caller.call("GET", f"/document/GetDocument/{body['Id']}?WithContent=true")
    expect(body.get("FileContent") == "cGxhbg==", f"The file did not come back: {status} {body}")
    oauth = drill.demo["oauth"]
    form = f"grant_type=client_credentials&client_id={oauth['client_id']}&client_secret={oauth['client_secret']}"
    token = form_post(drill, "/oauth/token", form)["access_token"]
    status, body, _ = caller.call(
        "GET", f"/materials/?siteId={drill.demo['site']['id']}", Authorization=f"Bearer {token}"
    )
    expect(status == 200, f"GET /materials/ answered {status}: {body}")
    scim = Caller(drill.proxy.url, {"Authorization": f"Bearer {drill.demo['scim_token']}"})
    status, body, _ = scim.call("GET", "/scim/Users?count=1")
    expect(status == 200 and "totalResults" in body, f"SCIM answered {status}: {body}")
    status, body, headers = Caller(drill.proxy.url, {}).call("GET", "/admin/")
    expect(status == 302 and "login" in headers["Location"], f"/admin/ answered {status}")
    status, body, _ = caller.call("GET", "/readyz")
    expect(status == 200, f"/readyz answered {status}: {body}")
    notes.append(f"JSON, file, materials, SCIM and sign-in answered; ready: {body['status']}")


def read_from_the_replica(drill: "Drill", notes: list[str]) -> None:
    """Add items and list them at once, then only list: each list is whole, and the replica answers."""
    caller = drill.caller()
    newest = "/item/GetItemList?sort=SiteSequenceId&order=desc&limit=1"
    start, before = time.monotonic(), drill.replica_reads()
    for number in range(100):
        status, body, _ = caller.call("POST", "/item/AddItem", {"Name": f"Scale {number}"})
        expect(status == 200, f"AddItem answered {status}: {body}")
        status, rows, _ = caller.call("GET", newest)
        expect(status == 200 and rows[0]["Id"] == body["Id"], f"The newest item is not listed first: {rows}")
    after_writes, before = _since(before, drill), drill.replica_reads()
    for _ in range(100):
        status, rows, _ = caller.call("GET", newest)
        expect(status == 200 and rows[0]["Id"] == body["Id"], f"The newest item is not listed any more: {rows}")
    quiet = _since(before, drill)
    deadline = time.monotonic() + 30
    while not drill.replica_reads().get("replica") and time.monotonic() < deadline:
        caller.call("GET", newest)
        time.sleep(0.1)
    expect(bool(drill.replica_reads().get("replica")), f"The replica answered no list: {after_writes}, {quiet}")
    notes.append(
        f"lists right behind a write: {after_writes}, without writes: {quiet}; {time.monotonic() - start:.1f} s"
    )


def _since(before: dict[str, int], drill: "Drill") -> dict[str, int]:
    """Return how many lists each answered since then."""
    return {outcome: count - before.get(outcome, 0) for outcome, count in drill.replica_reads().items()}


def form_post(drill: "Drill", path: str, form: str) -> Any:
    """Post a form through the proxy and return the JSON that it answers."""
    request = urllib.request.Request(  # noqa: S310 (the drill's own proxy)
        drill.proxy.url + path, form.encode(), {"Content-Type": "application/x-www-form-urlencoded"}
    )
    with urllib.request.urlopen(request, context=ssl._create_unverified_context()) as answer:  # noqa: S310, S323
        return json.load(answer)


def browse(drill: "Drill", notes: list[str]) -> None:
    """Sign in with a browser, open a list and search it; every file of the pages arrives, and no script complains."""
    chromium = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)
    if chromium is None:
        notes.append("NOT TRIED: Chromium is not installed")
        return
    from playwright.sync_api import expect as shown
    from playwright.sync_api import sync_playwright

    name = f"Balance of the browser {time.time_ns()}"
    status, body, _ = drill.caller().call("POST", "/item/AddItem", {"Name": name})
    expect(status == 200, f"AddItem answered {status}: {body}")
    faults: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(base_url=drill.proxy.url, ignore_https_errors=True)
        page.set_default_timeout(30_000)
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("response", lambda answer: faults.append(answer.url) if answer.status >= 400 else None)
        page.goto("/admin/")
        page.get_by_label("User name").fill(drill.demo["admin"]["username"])
        page.get_by_label("Password").fill(drill.demo["admin"]["password"])
        page.get_by_role("button", name="Sign in").click()
        shown(page.get_by_role("button", name="Log out")).to_be_visible(timeout=30_000)
        page.goto("/admin/items/item/")
        shown(page.get_by_text(name).first).to_be_visible(timeout=30_000)
        cookies = {cookie["name"]: cookie for cookie in page.context.cookies()}
        browser.close()
    expect(not faults, f"The pages had faults: {faults}")
    expect(bool(cookies.get("__Host-sessionid", {}).get("secure")), f"The session's cookie is not secure: {cookies}")
    notes.append("a person signed in and found the item")
