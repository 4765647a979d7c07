"""How often tokens and wrong tokens may call (DECISIONS 2.7)."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest

from records.operations import limits
from scim.callers import Caller, Mount
from scim.errors import Refused


def admitted(request: HttpRequest, mount: Mount, find: Callable[[HttpRequest, Mount], Caller]) -> Caller:
    """Return who calls; a wrong credential counts against the peer's address. Raises Refused, or ApiError (429)."""
    try:
        return find(request, mount)
    except Refused:
        if request.META.get("HTTP_AUTHORIZATION", "").strip():
            limits.note_wrong_credential(request)
        raise


def spend(caller: Caller) -> dict[str, str]:
    """Count a call of the token and return the headers that say what is left; raises ApiError (429)."""
    return limits.spend("provisioning", str(caller.token_id), settings.SCIM_RATE_LIMIT).headers()
