"""The operations of the items endpoint; start reading here."""

from typing import Any

urlpatterns: list[Any] = []
