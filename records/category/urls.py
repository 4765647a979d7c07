"""The operations of the category endpoint; start reading here."""

from typing import Any

urlpatterns: list[Any] = []
