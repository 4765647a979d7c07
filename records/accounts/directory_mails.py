"""Mails about a directory to the Site Administrators of its home site; the worker sends them (DECISIONS 9.6, 13.23)."""

from django.conf import settings
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django_tasks import task

from records.accounts import access
from records.accounts.languages import in_language_of
from records.accounts.models import Directory, SecurityKind, User
from records.accounts.security_mails import mail_to, send_or_retry
from records.history.trail import now
from records.sites.models import Site

TOKEN_ENDS = "TokenEnds"  # noqa: S105 (the kind of a notice)
SUBJECTS = {
    SecurityKind.DIRECTORY_STOPPED.value: _(
        "Larder: the directory %(directory)s was stopped from removing many people"
    ),
    TOKEN_ENDS: _("Larder: the directory %(directory)s has a provisioning token that ends soon"),
}


def administrators_of(site: Site, permission: str = "accounts.change_directory") -> list[User]:
    """Return the people who hold the permission at the site; if there are none, the superusers."""
    people = access.accounts_at(site.pk).filter(is_service_account=False)
    administrators = [user for user in people if access.may(user, site, permission)]
    return administrators or list(User.objects.filter(Q(is_active=True), is_superuser=True, is_service_account=False))


def notify_administrators(directory: Directory, kind: str, detail: str = "") -> None:
    """Queue a mail to each Site Administrator of the directory's home site, in the writing transaction.

    For a token that ends, `detail` is its name and, on the next line, when it ends.
    """
    for user in administrators_of(directory.home_site):
        if user.recovery_address:
            mail_about_directory.enqueue(
                str(directory.pk), str(user.pk), str(kind), detail, f"{now():%Y-%m-%d %H:%M} UTC"
            )


@task()
def mail_about_directory(directory_id: str, user_id: str, kind: str, detail: str, at: str, failures: int = 0) -> bool:
    """Send one mail and return whether it was sent; while the mail server is down, it is retried for a day."""
    directory = Directory.objects.filter(pk=directory_id).first()
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if directory is None or user is None or not user.recovery_address:
        return False
    token, _separator, ends = detail.partition("\n")
    path = reverse("admin:accounts_directory_connection", args=(directory.pk,))
    context = {
        "user": user,
        "directory": directory,
        "kind": kind,
        "token": token,
        "ends": ends,
        "at": at,
        "page": f"{settings.BASE_URL}{path}",
    }
    with in_language_of(user):
        message = mail_to(user.recovery_address, SUBJECTS[kind] % {"directory": directory.name}, "directory", context)
    return send_or_retry(message.send, mail_about_directory, (directory_id, user_id, kind, detail, at), failures)
