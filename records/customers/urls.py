"""The operations of the customers endpoint; start reading here."""

from typing import Any

urlpatterns: list[Any] = []
