"""Plain functions that sign in as a person does, and run what the worker would."""

import re
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value, yield_hotp_counters_from_time
from django.core import mail
from django.test import Client
from django.utils.module_loading import import_string
from django_tasks_db.models import DBTaskResult

from records.accounts.models import User
from tests import make

LOGIN = "/admin/login/"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"  # gitleaks:allow (of a test)


def try_password(client: Client, name: str, password: str = make.PASSWORD, *, address: str = "", **more: Any) -> Any:
    """Send the sign-in form and return the answer."""
    where: Any = {"REMOTE_ADDR": address} if address else {}
    return client.post(LOGIN, {"username": name, "password": password, **more}, **where)


def is_signed_in(client: Client) -> bool:
    """Return whether the browser has an open session."""
    return client.get("/admin/search/").status_code == 200


def give_app(user: User) -> Authenticator:
    """Give the account an authenticator app with SECRET, and recovery codes."""
    RecoveryCodes.activate(user)
    return TOTP.activate(user, SECRET).instance


def code_of_app(step: int = 0) -> str:
    """Return what the app shows now, or so many steps of 30 seconds later."""
    counter = list(yield_hotp_counters_from_time())[1] + step
    return format_hotp_value(hotp_value(SECRET, counter))


def recovery_codes(user: User) -> list[str]:
    """Return the account's unused recovery codes."""
    return RecoveryCodes(Authenticator.objects.get(user=user, type="recovery_codes")).get_unused_codes()


def run_tasks() -> None:
    """Run what is queued, as the worker would, until nothing is left that is due."""
    while (row := DBTaskResult.objects.ready().first()) is not None:
        DBTaskResult.objects.filter(pk=row.pk).delete()
        arguments = row.args_kwargs
        import_string(row.task_path).call(*arguments["args"], **arguments["kwargs"])


def mailed_path() -> str:
    """Return the path of the link in the last mail."""
    paths = re.findall(r"https?://[^/\s]+(/\S+)", str(mail.outbox[-1].body))
    return str(paths[0])
