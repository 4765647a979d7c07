"""The operations of the materials endpoint; start reading here."""

from typing import Any

urlpatterns: list[Any] = []
