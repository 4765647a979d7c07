"""How a person confirmed their identity before an act such as a signature."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Confirmation(models.TextChoices):
    """The proof of identity that the person was asked for and gave correctly."""

    PASSWORD = "Password", _("Password")
    PASSKEY = "Passkey", _("Passkey")
    PROVIDER = "Identity provider", _("Identity provider")
