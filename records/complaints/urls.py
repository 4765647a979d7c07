"""The operations of the complaints endpoint; start reading here."""

from typing import Any

urlpatterns: list[Any] = []
