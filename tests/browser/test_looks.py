"""Every kind of page keeps to the accessibility rules: in light, in dark, and 375 pixels wide."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from django.contrib import admin
from django.urls import NoReverseMatch, URLPattern, URLResolver, reverse
from django.urls.resolvers import RoutePattern
from playwright.sync_api import Page, expect

from config import urls
from documents.models import Document, DocumentVersion
from records.accounts import directories
from records.accounts.actions import set_members
from records.accounts.models import DefaultRole, Role, SubscriptionKey, User
from records.actions.models import Action, Status
from records.attachments.models import Attachment
from records.audits.models import AuditRecord
from records.backoffice import extension_points
from records.complaints.models import Complaint, UnitsSold
from records.customers.models import Customer
from records.employees.models import Course, Employee
from records.history.models import Change
from records.items.models import Item
from records.operations.calls import buffer
from records.reference.models import Product, SiteEntry
from records.retention.actions import set_hold
from records.retention.models import RetentionPeriod
from records.sites.models import Entity, EntityFolder, Site
from records.sites.writing import add_record
from records.webhooks import actions
from records.webhooks.models import Delivery, Subscription
from scim.models import ProvisioningCall
from tests import make
from tests.browser.waiting import settle
from tests.conftest import Api
from tests.make import audits as make_audits
from tests.make.actions import make_action, move
from tests.make.attachments import jpeg, make_attachment
from tests.make.backoffice import address, list_address, sign_in
from tests.make.complaints import make_complaint, make_draft, make_entry, make_period, make_units_sold
from tests.make.customers import make_customer
from tests.make.documents import make_document, sign, version_of
from tests.make.items import make_item
from tests.make.markup import Markup, covering_addresses
from tests.make.materials import make_material
from tests.make.packs import new_pack
from tests.make.webhooks import make_webhook

pytestmark = pytest.mark.django_db(transaction=True)

NARROW = {"width": 375, "height": 812}
WIDE = {"width": 1280, "height": 900}


def step(record: Any, name: str) -> str:
    label = f"{record._meta.app_label}_{record._meta.model_name}"
    return reverse(f"admin:{label}_step", args=(record.pk, name))


def pages_of_records(site: Site) -> Iterator[str]:
    complaint, draft = make_complaint(site, trace_number="L1"), make_draft(site)
    yield from ("/admin/", "/admin/search/?q=L1", "/admin/search/?q=zebra", list_address(Complaint))
    yield from (reverse("admin:complaints_complaint_add"), address(complaint), address(draft))
    yield from (address(complaint, "read"), address(complaint.customer, "read"), address(complaint.product, "read"))
    yield from (address(complaint, "history"), step(complaint, "complete"), step(draft, "submit"))
    on_hold = make_complaint(site, consumer_last_name="Holt")
    set_hold(Complaint, site.pk, on_hold.pk, author=make.SYSTEM, reason="Court case 12")
    period = make_period(site, months=24)
    yield from (address(on_hold, "read"), address(on_hold), address(period))
    yield from (
        reverse("admin:retention_hold", args=("lift", "complaint", on_hold.pk)),
        list_address(RetentionPeriod),
    )
    yield from (address(make_units_sold(site, "2026-03", 5)), list_address(UnitsSold))
    employee = make.make_employee(site, employment_history=[{"company": "Mill"}])
    yield from (list_address(Employee), address(employee), step(employee, "give-account"), step(employee, "archive"))
    document = make_document(site)
    yield from (reverse("admin:documents_document_add"), address(document), address(document, "versions"))
    yield from (list_address(Document), "/admin/documents/inbox/")
    program = make_audits.make_program(site, frequency_months=3, next_due_date=None)
    audit = make_audits.start(make_audits.make_audit(program))
    yield from (
        address(program),
        step(program, "plan"),
        list_address(AuditRecord),
        address(audit),
        address(audit, "read"),
        step(audit, "submit"),
    )
    yield from (list_address(Item), f"{list_address(Item)}?archived=yes", reverse("admin:items_item_import"))


def pages_of_follow_up(site: Site, root: User) -> Iterator[str]:
    """Yield pages on which records wait for somebody: to be answered, read, learnt, judged, kept or erased."""
    complaint = make_complaint(site, consumer_last_name="Berg", complaint_description="Mrs Berg rang.")
    Complaint.objects.filter(pk=complaint.pk).update(target_date="2020-05-01T00:00:00Z")
    set_hold(Customer, site.pk, make_customer(site).pk, author=make.SYSTEM, reason="Court case 12")
    yield from (f"{list_address(Complaint)}?triage=needed", step(complaint, "erase-consumer"))
    yield from (reverse("admin:monthly"), reverse("admin:monthly") + "?month=x", reverse("admin:retention_holds"))
    role = make.make_role(site, ["items.view_item"], name="Bakers")
    set_members(role, add=[root], author=make.SYSTEM)
    document = make_document(site, must_read=[role])
    version = version_of(make_document(site, author=make.author_of(root), user_to_review=[root]))
    sign(version, root, "reject", comment="Step 3 is missing.")
    yield from (reverse("admin:documents_reading"), reverse("admin:documents_read", args=(version_of(document).pk,)))
    yield from (reverse("admin:documents_rejected", args=(version.pk,)), address(document, "readers"))
    readings = reverse("admin:documents_readings")
    yield from (readings, f"{readings}?show=missing&due__until=2031-01-01")
    employee = make.make_employee(site, phone="555-0100")
    make.make_job_description(site, employees=[employee]).required_documents.add(document)
    Employee.objects.filter(pk=employee.pk).update(is_archived=True)
    customer = make_customer(site, party_contacts=[{"last_name": "Przybylski"}])
    yield from (step(customer, "erase-contact"), step(employee, "erase-private-facts"))
    yield from (reverse("admin:training"), reverse("admin:training") + "?by=job", reverse("admin:reminders"))
    done = move(make_action(site, about=complaint), Status.DONE, make.make_user(site=site, role=DefaultRole.MANAGER))
    yield from (address(done), step(done, "close"), step(done, "send-back"), list_address(Action))
    photo = make_attachment(site, on=complaint, content=jpeg(), file_name="a.jpg", file_type="image/jpeg")
    yield from (address(complaint), address(photo), list_address(Attachment), reverse("admin:actions_action_add"))


def pages_of_administration(site: Site) -> Iterator[str]:
    product = make_entry(Product, site, "Rye loaf")
    yield from (address(product), reverse("admin:reference_rating_add"), reverse("admin:reference_checklist_add"))
    make.make_folder(site, Entity.DOCUMENT, "Procedures")
    yield from (list_address(EntityFolder), f"{list_address(EntityFolder)}?archived=all")
    role = Role.objects.get(site=site, default_role=DefaultRole.STANDARD)
    own = make.make_role(site, ["employees.view_employee"], [make.make_user(site=site)])
    yield from (address(role), address(own), reverse("admin:accounts_role_members", args=(own.pk,)))
    yield from (reverse("admin:rights"), reverse("admin:accounts_user_add"), reverse("admin:sites_site_add"))
    directory = directories.add_directory("Entra", site, author=make.SYSTEM)
    ProvisioningCall.objects.create(directory=directory, method="GET", line="/scim/Users", status=200)
    yield from (reverse("admin:accounts_directory_connection", args=(directory.pk,)), list_address(ProvisioningCall))
    webhook = make_webhook(site, "https://warehouse.invalid/larder", ["Item"])
    delivery = actions.request_test(webhook, author=make.SYSTEM)
    yield from (list_address(Subscription), address(webhook), address(webhook, "secret"), step(webhook, "test"))
    yield from (list_address(Delivery), address(delivery))
    yield from (list_address(Change), address(Change.objects.filter(site=site).latest("number")))


def pages_of_a_person(site: Site, person: Any) -> Iterator[str]:
    api = Api(make.make_key(site, user=person))
    api.get("/item/GetItemList")
    api.get("/item/GetItem/nonsense")
    buffer.flush()
    key = SubscriptionKey.objects.get(user=person)
    yield from ("/profile/", reverse("key-calls", args=(key.pk,)), reverse("admin:password_change"), "/docs/")


FILLED_BY = {
    "version_id": DocumentVersion,
    "document_id": Document,
    "attachment_id": Attachment,
    "key_id": SubscriptionKey,
}
"""What the parameters of addresses stand for, beside the record of the model whose page it is."""
LEADS_AWAY = ("logout", "provider")


def patterns(several: Any, space: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Yield each address that has a name, with that name."""
    for one in several:
        if isinstance(one, URLResolver):
            yield from patterns(one.url_patterns, f"{space}{one.namespace}:" if one.namespace else space)
        elif one.name and isinstance(one.pattern, RoutePattern):
            yield f"{space}{one.name}", one


def addresses_of_every_page(site: Site) -> Iterator[str]:
    """Yield the addresses of all pages that the URL conf knows, each model's with a record of it."""
    models = {f"{model._meta.app_label}_{model._meta.model_name}": model for model in admin.site._registry}
    for label, model in models.items():
        if issubclass(model, SiteEntry) and not model._default_manager.exists():
            make_entry(model, site)
        assert model._default_manager.exists(), f"no record of {label}"
    for name, pattern in patterns(urls.pages):
        if any(word in name for word in LEADS_AWAY):
            continue
        label = "_".join(name.removeprefix("admin:").split("_")[:2])
        record_model = models.get(label)
        arguments = dict.fromkeys(pattern.pattern.converters, "x")
        for parameter in arguments:
            kind: Any = FILLED_BY.get(parameter, record_model if parameter == "object_id" else None)
            if kind is not None:
                arguments[parameter] = str(kind._default_manager.order_by("-pk").values_list("pk", flat=True)[0])
        if record_model is not None and name.endswith("_step"):
            steps = [step.name for step in admin.site._registry[record_model].record_actions]  # type: ignore[attr-defined]
            yield from (reverse(name, kwargs={**arguments, "name": step}) for step in steps)
            continue
        with contextlib.suppress(NoReverseMatch):
            yield reverse(name, kwargs=arguments)


@pytest.mark.long
def test_every_page_is_complete_and_keeps_to_the_accessibility_rules_in_every_look(
    site: Site, page_of: Callable[..., Page]
) -> None:
    """Look at the markup of every page, and in Chromium at pages that hold each kind of element once."""
    root = make.make_user("root", site=site, is_superuser=True)
    make_attachment(site, on=make_action(site))
    make.make_job_description(site)
    make_material(site)
    make_item(site)
    add_record(Course(site=site, name="Hygiene", months_of_validity=12), author=make.SYSTEM, operation="AddCourse")
    new_pack(site, root)
    addresses = [*pages_of_records(site), *pages_of_follow_up(site, root)]
    addresses += [*pages_of_administration(site), *pages_of_a_person(site, root)]
    client, markup = sign_in(root, site), {}
    for where in dict.fromkeys([*addresses, *addresses_of_every_page(site)]):
        answer: Any = client.get(where)
        assert answer.status_code < 500, where
        assert answer.status_code == 200 or where not in addresses, where
        content = answer.getvalue()
        if answer.status_code == 200 and answer["Content-Type"].startswith("text/html") and where != "/docs/":
            markup[where] = Markup(content.decode())
        answer.close()
    lists = [list_address(model) for model in admin.site._registry]
    assert [where for where in lists if where not in markup] == []
    assert [f"{where}: {fault}" for where, one in markup.items() for fault in one.faults()] == []
    page = with_axe(page_of(root, site))
    with_frame = covering_addresses({where: one.kinds_in_frame for where, one in markup.items()})
    places = dict.fromkeys(
        [
            *with_frame,
            "/docs/",
            *covering_addresses({where: one.kinds for where, one in markup.items()}),
        ]
    )
    assert [fault for where in places for fault in faults_at(page, where, frame=where in with_frame)] == []


def test_pages_that_say_no_keep_to_the_accessibility_rules_in_every_look(
    site: Site, page_of: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = with_axe(page_of())
    faults = []
    for where in ("/admin/login/", "/accounts/password/", "/accounts/password/sent/", "/accounts/password/x/y/"):
        faults += faults_at(stranger, where)
    stranger.goto("/admin/login/")
    stranger.evaluate("document.querySelector('[name=csrfmiddlewaretoken]').remove()")
    stranger.get_by_label("User name").fill("x")
    stranger.get_by_label("Password").fill("x")
    stranger.get_by_role("button", name="Sign in").click()
    stranger.get_by_role("heading", name="Page out of date").wait_for()
    faults += faults_shown(stranger, "403_csrf.html")
    reader = with_axe(page_of(make.make_user(site=site, role=DefaultRole.READER), site))
    faults += faults_at(reader, reverse("admin:rights"), 403)
    faults += faults_at(reader, "/admin/nowhere/", 404)
    faults += faults_at(reader, f"{list_address(Item)}x/change/", 404)
    monkeypatch.setattr(extension_points, "start_page", broken)
    faults += faults_at(reader, "/admin/", 500)
    expect(reader.get_by_role("heading", name="Something went wrong")).to_be_visible()
    assert faults == []


def broken(*_: Any) -> Any:
    raise ArithmeticError("A fault of ours, made by a test.")


def with_axe(page: Page) -> Page:
    """Let every document of the page's context bring axe-core along; sending it to each anew takes a tenth longer."""
    page.context.add_init_script(AXE)
    return page


def wide_and_light(page: Page) -> None:
    settle(page)
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    # Colours that are still on their way to the other theme have no contrast to speak of.
    page.emulate_media(color_scheme="light", reduced_motion="reduce")


def faults_at(page: Page, where: str, status: int = 200, *, frame: bool = False) -> list[str]:
    """Open the page and return its faults; see faults_shown."""
    wide_and_light(page)
    answer = page.goto(where)
    assert answer is not None
    assert answer.status == status, where
    if where == "/docs/":
        page.wait_for_selector(".opblock")
        return faults_shown(page, where, AS_WRITTEN)
    return faults_shown(page, where, frame=frame)


def faults_shown(page: Page, where: str, only: list[str] | None = None, *, frame: bool = False) -> list[str]:
    """Return the serious faults that axe-core finds on the page in each look, and whether it outgrows a phone.

    With `only`, these are the rules that are looked at. Without `frame`, nothing is looked at in the header and in the
    menu, which all pages of the back-office share: the test of every page looks at each kind of their elements.
    """
    parts = "" if frame else FRAME
    wide_and_light(page)
    faults = [f"{where}: {fault}" for fault in violations(page, only, parts)]
    page.emulate_media(color_scheme="dark")
    faults += [f"{where} (dark): {fault}" for fault in violations(page, only or ["color-contrast"], parts)]
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    faults += [f"{where} (phone): {wider}px wider than the window"] if wider > 0 else []
    narrow = violations(page, only or ["scrollable-region-focusable"], parts)
    return faults + [f"{where} (phone): {fault}" for fault in narrow]


AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
AS_WRITTEN = ["html-has-lang", "document-title", "image-alt", "link-name"]
"""What of the documentation's page is ours: the rest its library makes."""


FRAME = "body:has(> .frame > .menu) > header, .frame > .menu"
LOOK = """([besides, options]) =>
  axe.run(besides && document.querySelector(besides) ? { exclude: [besides] } : document, options)"""


def violations(page: Page, only: list[str] | None = None, besides: str = "") -> list[str]:
    """Return the serious and critical violations of all rules, or all violations of some: the rule and the element.

    Elements that the selector `besides` names, and what they hold, are not looked at.
    """
    options: dict[str, Any] = {"reporter": "no-passes", "preload": False}
    if only:
        options["runOnly"] = {"type": "rule", "values": only}
    results = page.evaluate(LOOK, [besides, options])["violations"]
    return [
        f"{violation['id']} {node['html'][:160]}"
        for violation in results
        if only or violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]
