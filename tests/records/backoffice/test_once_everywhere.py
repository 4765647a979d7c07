"""What a form of the back-office adds, the same form sent twice adds once, also if both arrive at the same moment."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from records.accounts import clients, directories, keys
from records.accounts.models import DefaultRole
from records.history.models import Change
from records.sites.about import pointer_to
from records.sites.models import Site
from records.webhooks.models import Delivery, Kind, Outcome
from tests import make
from tests.make.backoffice import address, form_of, sign_in
from tests.make.complaints import make_complaint
from tests.make.documents import make_document
from tests.make.pdfs import pdf
from tests.make.webhooks import make_webhook

ALREADY_SAVED = "This form was saved already. Nothing was added again."


@dataclass
class Door:
    """A form of a page: where it is, a text in it, the operation that is recorded, what is typed, where it is sent."""

    page: str
    marker: str
    operation: str
    data: dict[str, Any] = field(default_factory=dict)
    target: str = ""
    files: Callable[[], dict[str, Any]] = dict
    says_so: bool = True
    count: int = 1

    def form(self, client: Client) -> dict[str, Any]:
        """Return the hidden fields of the form, as the page shows it (all if it is the main one), and what is typed."""
        page = client.get(self.page)
        if not self.marker:
            return {**form_of(page), **self.data}
        html = page.content.decode()
        form = next(part for part in html.split("<form")[1:] if self.marker in part.partition("</form>")[0])
        inputs = (one for one in re.findall(r"<input [^>]*>", form) if 'type="hidden"' in one)
        values = [(re.search(r'name="([^"]*)"', one), re.search(r'value="([^"]*)"', one)) for one in inputs]
        return {**{name[1]: value[1] if value else "" for name, value in values if name}, **self.data}

    def send(self, client: Client, form: dict[str, Any], **options: Any) -> Any:
        """Send the form as a browser would, and read the answer; the files are opened anew each time."""
        answer: Any = client.post(self.target or self.page, {**form, **self.files()}, **options)
        if answer.streaming:
            answer.getvalue()
        return answer


def _file(name: str, content: bytes = b"Clean.", kind: str = "text/plain") -> Any:
    return SimpleUploadedFile(name, content, kind)


def _profile(do: str, operation: str, **data: Any) -> Door:
    return Door("/profile/", f'value="{do}"', operation, {"do": do, **data})


def _next_key(site: Site, user: Any) -> Door:
    key, _ = keys.issue_key(user, site, "ERP", author=make.author_of(user))
    return _profile("rotate-key", "IssueKey", id=str(key.pk))


def _next_secret(site: Site, user: Any) -> Door:
    oauth_client, _ = clients.issue_client(user, "ERP", author=make.author_of(user))
    return _profile("rotate-client", "RotateClient", id=str(oauth_client.pk))


def _token(site: Site, user: Any) -> Door:
    directory = directories.add_directory("Entra", site, sites=(), author=make.author_of(user))
    url = reverse("admin:accounts_directory_connection", args=(directory.pk,))
    return Door(url, 'id="make-token"', "IssueToken", {"do": "issue", "name": "Entra", "dialect": "documented"})


def _webhook(site: Site, page: str) -> Door:
    webhook = make_webhook(site, "https://example.com/hook")
    if page == "test":
        url = reverse("admin:webhooks_subscription_step", args=(webhook.pk, "test"))
        return Door(url, "Send a test", "TestWebhook")
    if page == "again":
        delivery = Delivery.objects.create(
            subscription=webhook, kind=Kind.CHANGE, number=1, message_id="msg", outcome=Outcome.FAILED
        )
        url = reverse("admin:webhooks_delivery_change", args=(delivery.pk,))
        return Door(url, "Send again", "SendWebhookAgain")
    webhook.secret_shown = webhook.secret_made
    webhook.save()
    url = reverse("admin:webhooks_subscription_secret", args=(webhook.pk,))
    return Door(url, 'value="rotate"', "RotateWebhookSecret", {"do": "rotate"})


def _print(site: Site, user: Any) -> Door:
    document = make_document(site, pdf("First page"), file_name="hygiene.pdf", file_type="application/pdf")
    url = reverse("admin:documents_print", args=(document.pk,))
    return Door(address(document, "read"), url, "ControlledPrint", target=url)


def _upload(site: Site, user: Any) -> Door:
    document = make_document(site)
    url = reverse("admin:documents_document_step", args=(document.pk, "upload"))
    data = {"change_reason": "Newer."}
    return Door(url, "Upload a new version", "UpdateDocument", data, files=lambda: {"file": _file("new.txt")})


def _attach(site: Site, user: Any) -> Door:
    complaint = make_complaint(site)
    url = reverse("admin:attachments_add", args=(complaint.ENTITY.value, complaint.pk))
    files = lambda: {"files": [_file("a.txt"), _file("b.txt", b"Other.")]}  # noqa: E731
    return Door(address(complaint, "read"), url, "AddAttachment", target=url, files=files, says_so=False, count=2)


def _quick(site: Site, user: Any) -> Door:
    data = {"complaint_description": "A hair."}
    files = lambda: {"photos": _file("hair.txt")}  # noqa: E731
    url = reverse("admin:quick_complaint")
    return Door(url, "quick-complaint", "AddAttachment", data, files=files, says_so=False)


def _action(site: Site, user: Any) -> Door:
    page = f"{reverse('admin:actions_action_add')}?about={pointer_to(make_complaint(site))}"
    return Door(page, "", "AddAction", {"name": "Sweep", "due_date": "2031-05-01"})


DOORS: dict[str, Callable[[Site, Any], Door]] = {
    "a key": lambda site, user: _profile("issue-key", "IssueKey", name="ERP", site=str(site.pk)),
    "a key's successor": _next_key,
    "a client": lambda site, user: _profile("issue-client", "IssueClient", **{"client-name": "ERP"}),
    "a client's new secret": _next_secret,
    "a calendar link": lambda site, user: Door(
        "/profile/",
        'value="make"',
        "IssueCalendarLink",
        {"do": "make"},
        target=reverse("admin:calendar_link"),
    ),
    "a directory's token": _token,
    "a webhook's test": lambda site, user: _webhook(site, "test"),
    "a message again": lambda site, user: _webhook(site, "again"),
    "a webhook's new secret": lambda site, user: _webhook(site, "secret"),
    "a pack": lambda site, user: Door(
        reverse("admin:packs_new"),
        'name="kinds"',
        "AskForPack",
        {"first": "2026-01-01", "last": "2026-02-01", "kinds": ["items"]},
    ),
    "a controlled print": _print,
    "a new version": _upload,
    "attachments": _attach,
    "a photo of the quick form": _quick,
    "an action": _action,
}
each_door = pytest.mark.parametrize("name", DOORS)


def _open(name: str) -> tuple[Door, Client, dict[str, Any]]:
    site = make.make_site()
    user = make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR)
    door, client = DOORS[name](site, user), sign_in(user, site)
    return door, client, door.form(client)


def _count(door: Door) -> int:
    return Change.objects.filter(operation=door.operation).count()


@pytest.mark.django_db
@each_door
def test_the_same_form_sent_twice_adds_once_and_says_so(name: str) -> None:
    door, client, form = _open(name)
    before = _count(door)
    assert door.send(client, form).status_code in (200, 302)
    assert _count(door) == before + door.count
    again = door.send(client, form, follow=True)
    assert _count(door) == before + door.count
    if door.says_so:
        assert ALREADY_SAVED in again.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("name", [name for name in DOORS if name != "a key's successor"])  # Two keys are the limit.
def test_the_form_of_a_page_that_was_opened_again_adds_again(name: str) -> None:
    door, client, form = _open(name)
    before = _count(door)
    door.send(client, form)
    assert door.send(client, {**form, **door.form(client)}).status_code in (200, 302)
    assert _count(door) == before + 2 * door.count


@pytest.mark.django_db(transaction=True)
@each_door
def test_the_same_form_sent_twice_at_the_same_moment_adds_once(name: str) -> None:
    door, client, form = _open(name)
    before = _count(door)
    other = Client()
    other.cookies = client.cookies
    answers = make.at_once(lambda: door.send(client, form), lambda: door.send(other, form))
    assert all(getattr(answer, "status_code", 500) < 400 for answer in answers), answers
    assert _count(door) == before + door.count
