"""The operations of the audits endpoint; start reading here."""

from typing import Any

urlpatterns: list[Any] = []
