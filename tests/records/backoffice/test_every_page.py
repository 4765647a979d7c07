"""What every page of the back-office does."""

import re
from html import unescape
from itertools import zip_longest
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.contenttypes.models import ContentType
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.backoffice.choice_filters import ArchivedFilter
from records.backoffice.filter_bar import chips, controls
from records.employees.models import Employee, JobDescription
from records.reference.models import Product
from records.sites.about import kinds
from records.sites.models import Entity, Site
from tests import make
from tests.make.actions import make_action
from tests.make.attachments import make_attachment
from tests.make.audits import make_audit, make_checklist, make_program, make_rating, start
from tests.make.backoffice import address, browser, form_of, list_address, make_superuser, sign_in
from tests.make.complaints import make_complaint, make_entry
from tests.make.customers import make_customer
from tests.make.documents import make_document
from tests.make.items import make_item


def test_every_link_of_every_lists_filters_leads_somewhere(site: Site) -> None:
    client = sign_in(make_superuser(), site)
    filter_names = set()
    for model, model_admin in admin.site._registry.items():
        if {*model_admin.list_filter} <= {ArchivedFilter} and model is not Product:
            continue
        page: Any = client.get(list_address(model))
        filters = page.context["cl"].filter_specs if "cl" in page.context else []
        queries_by_filter = []
        for list_filter in filters:
            if model is Product or type(list_filter) is not ArchivedFilter:
                filter_names.add(type(list_filter).__name__)
                spans = [f"?{list_filter.span_name}={span}" for span in getattr(list_filter, "spans", ())]
                choices = [choice["query_string"] for choice in list_filter.choices(page.context["cl"])]
                queries_by_filter.append([query.removeprefix("?") for query in (*choices, *spans)])
        # The first choices of all filters are followed together, then the second ones, and so on.
        for queries in zip_longest(*queries_by_filter, fillvalue=""):
            url = f"{list_address(model)}?{'&'.join(filter(None, queries))}"
            assert client.get(url).status_code == 200, url
    assert {"ArchivedFilter", "OutcomeFilter", "ActionDueFilter", "AuditDueFilter", "ActiveFilter"} <= filter_names


def test_the_form_of_every_lists_filters_sent_as_it_is_shown_narrows_nothing(site: Site) -> None:
    client = sign_in(make_superuser(), site)
    all_names = []
    for model, model_admin in admin.site._registry.items():
        if not model_admin.list_filter:
            continue
        page: Any = client.get(list_address(model))
        if "cl" not in page.context:
            continue
        names = [name for part in controls(page.context["cl"]) for name in part.get("names", [part.get("name")])]
        # Like a browser, which also sends the fields that are empty.
        response: Any = client.get(list_address(model), dict.fromkeys(["q", *names], ""))
        assert str(response.context["cl"].queryset.query) == str(page.context["cl"].queryset.query), model
        assert chips(response.context["cl"]) == chips(page.context["cl"]), model
        all_names += names
    assert {"record_status__exact", "severity__exact", "product__id__exact", "due"} <= set(all_names)


def test_malformed_numbers_and_ids_in_addresses_and_forms_are_no_faults_of_ours(site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    for number in ("\u00b2", "9" * 5000, "x"):
        call = reverse("admin:scim_provisioningcall_change", args=(number,))
        assert client.get(call).status_code == 404
        add = reverse("admin:accounts_role_add")
        page = client.post(add, {**form_of(client.get(add)), "name": "Clerk", "permissions": [number]})
        assert page.status_code == 200
        assert client.get(add.replace("add", "1"), {"p": number}).status_code in (302, 404)
    employees = ContentType.objects.get_for_model(Employee).pk
    assert client.get(f"/admin/r/{employees}/x/").status_code == 404


def world(site: Site) -> list[Any]:
    """Make a record of each kind, with references to each other, and return them."""
    employee, customer, item = make.make_employee(site), make_customer(site), make_item(site)
    program = make_program(site, checklists=[make_checklist(site, questions=("Clean?",))], rating=make_rating(site))
    audit, document = start(make_audit(program, auditors=[employee])), make_document(site)
    complaint = make_complaint(site, customer=customer, product=make_entry(Product, site, "Rye loaf"))
    job = JobDescription.objects.create(site=site, site_sequence_id=1, name="Baker", document=document)
    job.employees.add(employee)
    about = [make_action(site, about=record) for record in (complaint, audit, document, customer, item)]
    for record in (complaint, audit, document):
        make_attachment(site, on=record)
    return [employee, customer, item, program, audit, document, complaint, job, about[0]]


def links_of(page: Any) -> set[str]:
    """Return the addresses of the back-office to which a page leads, without those that sort or export the list."""
    addresses = re.findall(r'<a\b[^>]*? href="([^"#]+)', page.content.decode())
    return {unescape(one) for one in addresses if one.startswith(("/admin/", "/profile")) and "/export/" not in one}


LINKING = (Entity.ACTION, Entity.AUDIT_PROGRAM, Entity.AUDIT_RECORD, Entity.COMPLAINT, Entity.DOCUMENT)
"""Kinds whose pages lead to other kinds."""


@pytest.mark.parametrize("kind", LINKING)
def test_no_link_of_a_page_leads_where_its_reader_may_not_go(site: Site, kind: Entity) -> None:
    records, model = world(site), kinds()[kind]
    permissions = [f"{model._meta.app_label}.{action}_{model._meta.model_name}" for action in ("view", "change")]
    person = make.make_user(site=site)
    make.make_role(site, [*permissions, "history.view_change"], [person])
    client = sign_in(person, site)
    own = [address(record, "read") for record in records if type(record) is model]
    links: set[str] = set()
    for url in (list_address(model), f"{list_address(model)}?q=nothing-like-it", *own):
        page = client.get(url)
        assert page.status_code == 200, url
        links |= links_of(page)
    statuses = {}
    for link in sorted(links):
        answer: Any = client.get(link)
        b"".join(getattr(answer, "streaming_content", ()))  # A file is closed at its end.
        if answer.status_code >= 400:
            statuses[link] = answer.status_code
    assert statuses == {}
