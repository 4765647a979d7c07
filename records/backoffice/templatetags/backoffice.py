"""What the back-office's templates ask for."""

from typing import Any

from django import template
from django.contrib.admin.views.main import PAGE_VAR

register = template.Library()


@register.simple_tag
def page_address(changelist: Any, step: int) -> str:
    """Return the address of the list's page so many steps on."""
    return str(changelist.get_query_string({PAGE_VAR: changelist.page_num + step}))
