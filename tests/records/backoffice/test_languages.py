"""Pages and mails in the language of the person; programs and what is stored in English."""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import translation
from pypdf import PdfReader

from deploy import translations
from records.accounts.models import DefaultRole, Role, User
from records.backoffice.forms import PlainForm
from records.backoffice.passwords import send_password_link
from records.complaints.models import Complaint
from records.history.models import Change, Channel
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.make.audits import make_audit, make_program
from tests.make.backoffice import address, browser, form_of, list_address, sign_in
from tests.make.complaints import make_complaint
from tests.make.documents import make_document, sign, version_of
from tests.make.pdfs import texts_of

PROFILE = "/profile/"


@pytest.fixture
def speaker(site: Site) -> User:
    """Return a manager who reads German."""
    user = make.make_user(site=site, role=DefaultRole.MANAGER)
    User.objects.filter(pk=user.pk).update(language="de")
    return User.objects.get(pk=user.pk)


@pytest.mark.parametrize("path", translations.catalogues(), ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_each_catalogue_has_every_text_and_is_compiled(path: Path) -> None:
    assert list(translations.faults(path)) == []


def test_the_fields_of_steps_have_german_labels(site: Site, speaker: User) -> None:
    client, complaint = sign_in(speaker, site), make_complaint(site)
    step = client.get(reverse("admin:complaints_complaint_step", args=(complaint.pk, "complete")))
    assert "Bericht zur Prüfung" in step.content.decode()

    def kinds(form: type[PlainForm]) -> Iterator[type[PlainForm]]:
        yield form
        for kind in form.__subclasses__():
            yield from kinds(kind)

    with translation.override("de"):
        fields = [one for form in kinds(PlainForm) for one in form.base_fields.items()]
        labels = {
            name: name.replace("_", " ") for name, field in fields if field.label is None and not field.widget.is_hidden
        }
        english = {name for name, label in labels.items() if translation.gettext(label) == label}
    # These two get their labels where they are shown.
    assert english == {"is_shared", "with_texts"}
    assert {"result", "review_report", "severity"} <= set(labels)


def test_the_menu_is_in_the_language_of_each_page(site: Site) -> None:
    client = browser(site)
    for language, name in (("en", "Complaints"), ("de", "Reklamationen"), ("en", "Complaints")):
        page = client.get(list_address(Complaint), headers={"Accept-Language": language})
        links = [link for group in page.context["navigation"] for link in group["links"]]
        assert [link["name"] for link in links if link["current"]] == [name]


def test_a_person_chooses_the_language_and_the_browser_decides_before(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.MANAGER)
    client = sign_in(user, site)
    german = "de-AT,de;q=0.9,en;q=0.5"
    assert '<html lang="en"' in client.get("/admin/").content.decode()
    assert '<html lang="de"' in client.get("/admin/", HTTP_ACCEPT_LANGUAGE=german).content.decode()
    assert client.post(PROFILE, {"do": "choose-language", "language": "de"}).status_code == 302
    page = client.get("/admin/", HTTP_ACCEPT_LANGUAGE="en")
    assert page["Content-Language"] == "de"
    assert "Was auf mich wartet" in page.content.decode()
    change = Change.objects.get(record_id=user.pk, operation="ChooseLanguage")
    assert change.fields == [{"field": "language", "old": None, "new": "de"}]
    client.post(PROFILE, {"do": "choose-language", "language": ""})
    assert '<html lang="en"' in client.get("/admin/").content.decode()
    assert translation.get_language() == "en"


def test_a_language_that_is_not_offered_is_refused(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.READER)
    client = sign_in(user, site)
    assert client.post(PROFILE, {"do": "choose-language", "language": "tlh"}).status_code == 200
    user.refresh_from_db()
    assert user.language is None


def test_the_sign_in_page_follows_the_browser(db: None) -> None:
    page = Client().get("/admin/login/", HTTP_ACCEPT_LANGUAGE="de")
    assert "Kennwort vergessen?" in page.content.decode()
    assert "Forgotten your password?" in Client().get("/admin/login/", HTTP_ACCEPT_LANGUAGE="fr").content.decode()


def test_statuses_and_kinds_of_record_are_in_german_in_a_trace_the_search_a_new_pack_and_a_paper(
    site: Site, speaker: User
) -> None:
    make_complaint(site, trace_number="L26330-7", owner=speaker, severity="Critical")
    client = sign_in(speaker, site)
    for page in ("/admin/trace/?lots=L26330-7", "/admin/search/?q=L26330-7"):
        text = client.get(page).text
        assert "Wartet auf Prüfung" in text
        assert "Awaiting Review" not in text
    lines = client.get("/admin/packs/new/").context["lines"]
    with translation.override("de"):
        assert [str(line["title"]) for line in lines][:3] == ["Reklamationen", "Audits", "Maßnahmen"]
    paper = client.get("/admin/print/complaint/").content
    [text] = texts_of(paper)
    assert [word for word in ("Schweregrad", "Chargennummer", "Verantwortlich", "Zieldatum") if word not in text] == []
    assert str(PdfReader(io.BytesIO(paper)).root_object["/Lang"]) == "de"


def test_long_headings_of_lists_may_be_broken_in_each_language(site: Site, speaker: User) -> None:
    make_complaint(site)
    url = list_address(Complaint)
    german = sign_in(speaker, site).get(url).text
    assert "Chargen\u00adnummer" in german
    assert '<th scope="col"><input type="checkbox" id="action-toggle"' in german
    assert "Nonconfor\u00admance" in browser(site).get(url).text


def test_every_page_of_the_menu_opens_in_german(site: Site, speaker: User) -> None:
    User.objects.filter(pk=speaker.pk).update(is_superuser=True)
    client = sign_in(speaker, site)
    start = client.get("/admin/").content.decode()
    menu = start[start.index('<details class="menu"') : start.index("</nav></details>")]
    pages = re.findall(r'href="(/[^"]*)"', menu)
    assert len(pages) > 30
    for page in pages:
        response = client.get(page)
        assert response.status_code == 200, page
        assert '<html lang="de"' in response.content.decode(), page
        assert client.get(f"{page}add/").status_code in (200, 302, 403, 404), page


def test_words_with_two_meanings_have_the_right_one_in_german(site: Site, speaker: User) -> None:
    client, audit = sign_in(speaker, site), make_audit(make_program(site))
    assert "Beginnen</" in client.get(address(audit)).text
    assert ">Start</a>" in client.get(address(audit)).text
    roles = Client()
    roles.force_login(make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR, language="de"))
    role = Role.objects.get(site=site, default_role=DefaultRole.READER)
    assert ">Ändern</th>" in roles.get(address(role)).text
    with translation.override("de"):
        assert str(Channel.IMPORT.label) == "Import"


def test_a_record_and_its_list_are_in_german(site: Site, speaker: User) -> None:
    client = sign_in(speaker, site)
    complaint = make_complaint(site, trace_number="L4711")
    text = client.get(address(complaint)).content.decode()
    assert f"Reklamation {complaint.site_sequence_id}: L4711" in text
    assert "Reklamationen" in client.get(list_address(Complaint)).content.decode()


def test_a_record_is_in_german_also_after_it_was_opened_in_english(site: Site, speaker: User) -> None:
    url = address(make_complaint(site), "read")
    english = sign_in(make.make_user(site=site, role=DefaultRole.MANAGER), site).get(url).content.decode()
    german = sign_in(speaker, site).get(url).content.decode()
    for label, german_label in (("Created", "Angelegt"), ("Last modified", "Zuletzt geändert")):
        assert f"<dt>{label}</dt>" in english
        assert f"<dt>{german_label}</dt>" in german


def test_a_save_in_german_stores_what_a_save_in_english_stores(site: Site, speaker: User) -> None:
    complaints = [make_complaint(site) for _ in range(2)]
    english = make.make_user(site=site, role=DefaultRole.MANAGER)
    facts: list[Any] = []
    for user, complaint in zip((english, speaker), complaints, strict=True):
        client = sign_in(user, site)
        data = {**form_of(client.get(address(complaint))), "severity": "Major", "change_reason": "Seen again"}
        assert client.post(address(complaint), data).status_code == 302
        change = Change.objects.filter(record_id=complaint.pk).latest("number")
        name = change.record_name.replace(str(complaint.site_sequence_id), "N")
        facts.append((change.operation, change.fields, change.reason, name))
    assert facts[0] == facts[1]
    assert facts[0][3] == "Complaint N"


def test_programs_get_english_whatever_the_person_reads(site: Site, speaker: User) -> None:
    key = make.make_key(site, user=speaker)
    make_complaint(site)
    answers = []
    for language in ("en", "de"):
        api = Api(key, **{"Accept-Language": language})
        responses = [
            api.get("/complaint/GetComplaintList"),
            api.get("/complaint/GetComplaint/nonsense"),
            api.post("/complaint/AddComplaintDetail", {}),
        ]
        answers.append([(one.status_code, re.sub(rb'"RequestId":"[^"]*"', b"", one.content)) for one in responses])
    assert answers[0] == answers[1]


def test_a_mail_is_in_the_language_of_the_person(speaker: User) -> None:
    User.objects.filter(pk=speaker.pk).update(recovery_address="person@example.com")
    speaker.refresh_from_db()
    send_password_link(speaker)
    assert mail.outbox[0].subject == "Wählen Sie ein neues Kennwort für Larder"
    assert "Ihr Benutzername ist" in mail.outbox[0].body


def test_signing_in_searching_and_signing_are_in_german(site: Site, speaker: User) -> None:
    assert "Bei Larder anmelden" in Client().get("/admin/login/", HTTP_ACCEPT_LANGUAGE="de").content.decode()
    client = sign_in(speaker, site)
    assert "Suche: „Ofen“" in client.get("/admin/search/?q=Ofen").content.decode()
    document = make_document(site, user_to_review=[speaker])
    version = version_of(document)
    assert "Prüfen" in client.get("/admin/").content.decode()
    assert f"Prüfung: {document}" in client.get(f"/admin/documents/inbox/{version.pk}/").content.decode()
    assert f"{speaker} (Prüfung)" in client.get(address(document, "versions")).content.decode()
    sign(version, speaker)
    assert "Geprüft" in client.get(address(document, "versions")).content.decode()


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_reason_stands_below_the_rows_of_a_record_in_every_language(
    site: Site, speaker: User, language: str
) -> None:
    User.objects.filter(pk=speaker.pk).update(language=language)
    employee = make.make_employee(site, employment_history=[{"company": "Mill"}])
    page = sign_in(speaker, site).get(address(employee)).content.decode()
    assert page.index("data-rows") < page.index('name="change_reason"')


@pytest.mark.django_db
def test_a_malformed_address_is_refused_with_sie(client: Client) -> None:
    answer = client.post("/accounts/password/", {"email": "nobody"}, headers={"Accept-Language": "de"})
    assert "Geben Sie eine gültige E-Mail-Adresse ein." in answer.content.decode()
