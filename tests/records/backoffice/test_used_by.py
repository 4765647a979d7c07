"""The page that asks before something is archived names only users of it that exist for whoever asks."""

import pytest
from django.urls import reverse

from records.reference.models import Title
from records.sites.models import Site
from tests import make
from tests.make import documents as docs
from tests.make.backoffice import make_superuser, sign_in
from tests.make.complaints import make_complaint
from tests.make.customers import make_customer

KEEPS_ROLES = ["accounts.view_role", "accounts.change_role"]


def confirmation_page(site: Site, target: object, permissions: list[str]) -> str:
    """Return the page that asks somebody with these permissions before they archive the target."""
    user = make.make_user(site=site)
    make.make_role(site, permissions, [user])
    options = target._meta  # type: ignore[attr-defined]
    url = reverse(f"admin:{options.app_label}_{options.model_name}_step", args=(target.pk, "archive"))  # type: ignore[attr-defined]
    answer = sign_in(user, site).get(url)
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize(
    ("permissions", "expected"),
    [
        ([], []),
        (["documents.view_document"], ["Used by 1 document (In force)"]),
        (["documents.view_document", "documents.view_pending_version"], ["Used by 2 documents (In force, Draft plan)"]),
    ],
)
def test_a_document_that_does_not_exist_for_somebody_is_not_named(
    site: Site, permissions: list[str], expected: list[str]
) -> None:
    readers = make.make_role(site, [], name="Line readers")
    docs.make_document(site, name="In force").must_read.add(readers)
    docs.make_document(site, name="Draft plan", user_to_review=[docs.make_signer(site)]).must_read.add(readers)
    page = confirmation_page(site, readers, [*KEEPS_ROLES, *permissions])
    assert [sentence for sentence in expected if sentence in page] == expected
    assert ("Draft plan" in page) == ("documents.view_pending_version" in permissions)
    assert ("Used by" in page) == bool(permissions)


@pytest.mark.parametrize("sees_complaints", [True, False])
def test_records_of_a_kind_that_somebody_may_not_see_are_not_counted(site: Site, sees_complaints: bool) -> None:
    customer = make_customer(site)
    make_complaint(site, customer=customer)
    more = ["complaints.view_complaint"] if sees_complaints else []
    page = confirmation_page(site, customer, ["customers.view_customer", "customers.archive_customer", *more])
    assert ("Used by 1 complaint (Complaint 1)" in page) == sees_complaints


def test_an_entry_that_all_sites_share_is_used_by_records_of_all_of_them(site: Site, other_site: Site) -> None:
    title = Title.objects.get(code="DR")
    for one in (site, other_site):
        make.make_employee(one, first_name="Ann", last_name=one.name, title=title)
    url = reverse("admin:reference_title_step", args=(title.pk, "archive"))
    page = sign_in(make_superuser(), site).get(url).content.decode()
    assert "Used by 2 employees" in page
