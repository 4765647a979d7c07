"""What every page of the back-office does."""

from typing import Any

from django.contrib import admin
from django.contrib.contenttypes.models import ContentType
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.backoffice.choice_filters import ArchivedFilter
from records.backoffice.filter_bar import chips, controls
from records.employees.models import Employee
from records.reference.models import Product
from records.sites.models import Site
from tests.make.backoffice import browser, form_of, list_address, make_superuser, sign_in


def test_every_link_of_every_lists_filters_leads_somewhere(site: Site) -> None:
    client = sign_in(make_superuser(), site)
    tried = set()
    for model, model_admin in admin.site._registry.items():
        if {*model_admin.list_filter} <= {ArchivedFilter} and model is not Product:
            continue
        page: Any = client.get(list_address(model))
        filters = page.context["cl"].filter_specs if "cl" in page.context else []
        for shown in filters:
            if model is Product or type(shown) is not ArchivedFilter:
                tried.add(type(shown).__name__)
                spans = [f"?{shown.span_name}={span}" for span in getattr(shown, "spans", ())]
                for query in [*(choice["query_string"] for choice in shown.choices(page.context["cl"])), *spans]:
                    where = list_address(model) + query
                    assert client.get(where).status_code == 200, where
    assert {"ArchivedFilter", "OutcomeFilter", "ActionDueFilter", "AuditDueFilter", "ActiveFilter"} <= tried


def test_the_form_of_every_lists_filters_sent_as_it_is_shown_narrows_nothing(site: Site) -> None:
    client = sign_in(make_superuser(), site)
    tried = []
    for model, model_admin in admin.site._registry.items():
        if not model_admin.list_filter:
            continue
        page: Any = client.get(list_address(model))
        if "cl" not in page.context:
            continue
        names = [name for part in controls(page.context["cl"]) for name in part.get("names", [part.get("name")])]
        # Like a browser, which also sends the fields that are empty.
        shown: Any = client.get(list_address(model), dict.fromkeys(["q", *names], ""))
        assert str(shown.context["cl"].queryset.query) == str(page.context["cl"].queryset.query), model
        assert chips(shown.context["cl"]) == chips(page.context["cl"]), model
        tried += names
    assert {"record_status__exact", "severity__exact", "product__id__exact", "due"} <= set(tried)


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
