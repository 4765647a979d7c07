"""The operations of the documents endpoint; start reading here."""

from typing import Any

urlpatterns: list[Any] = []
