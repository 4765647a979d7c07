"""Settings that can be intended but weaken an installation: `manage.py check --deploy` and the start log list them.

Settings that can never be intended are refused at the start (config/env.py, config/settings.py).
"""

from collections.abc import Iterator

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register


@register("larder", deploy=True)
def check_settings(**_: object) -> list[CheckMessage]:
    """Return a warning for each setting of a production installation that should be reviewed."""
    return list(_weak_settings()) if settings.PRODUCTION else []


def _weak_settings() -> Iterator[CheckMessage]:
    if not settings.EMAIL_IS_SET:
        yield Warning(
            "EMAIL_URL is not set: invitations, links for a new password and reminders become files in DATA_DIR/mail.",
            hint="Set it to smtp+tls://user:password@host:587, or to file:///folder where files are meant.",
            id="larder.W002",
        )
    if settings.EMAIL_HOST_PASSWORD and not (settings.EMAIL_USE_TLS or settings.EMAIL_USE_SSL):
        yield Warning(
            "EMAIL_URL sends a password without TLS: everybody on the way can read it, and the links in the mails.",
            hint="Use smtp+tls:// or smtps://.",
            id="larder.W003",
        )
    if not settings.TRUSTED_PROXIES:
        yield Warning(
            "TRUSTED_PROXIES is empty: all callers behind a proxy share their limits and locks, and the security log "
            "names the proxy's address.",
            hint="Name the addresses or networks of the proxies that end TLS.",
            id="larder.W004",
        )
