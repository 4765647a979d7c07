"""How a person confirmed their identity before an act such as a signature."""

from django.db import models


class Confirmation(models.TextChoices):
    """The proof of identity that the person was asked for and gave correctly."""

    PASSWORD = "Password", "Password"
    PASSKEY = "Passkey", "Passkey"
    PROVIDER = "Identity provider", "Identity provider"
