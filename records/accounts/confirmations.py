"""How a person confirmed who they are before an act such as a signature."""

from django.db import models


class Confirmation(models.TextChoices):
    """What was asked of the person, and was right."""

    PASSWORD = "Password", "Password"
    PASSKEY = "Passkey", "Passkey"
    PROVIDER = "Identity provider", "Identity provider"
