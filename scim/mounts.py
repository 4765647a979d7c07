"""The two mounts of the provisioning interface and their addresses."""

from typing import Literal

from django.conf import settings

Mount = Literal["scim", "prodscim"]


def base_of(mount: Mount) -> str:
    """Return the address of a mount."""
    return f"{settings.BASE_URL}/{mount}"
