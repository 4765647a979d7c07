"""Templates print plain texts and whole numbers as Django does."""

import datetime
import decimal
import uuid
from typing import Any

import pytest
from django.template import Context, Template, base, defaulttags
from django.templatetags import i18n
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy

from config import templates

VALUES = (
    "",
    "Rye loaf",
    "<b>\"Fish & Chips\"</b> 'today'",
    mark_safe("<b>5 &amp; 6</b>"),
    0,
    -7,
    1234567,
    10**30,
    True,
    None,
    1234.5,
    decimal.Decimal("1234.50"),
    datetime.date(2026, 11, 30),
    datetime.datetime(2026, 11, 30, 23, 30, tzinfo=datetime.UTC),
    uuid.UUID(int=5),
    ["<", 1],
    gettext_lazy("Yes"),
    type("Name", (str,), {})("<mine>"),
    type("Number", (int,), {})(12345),
)


@pytest.mark.parametrize("autoescape", [True, False])
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_is_printed_as_django_prints_it(value: object, autoescape: bool) -> None:
    context = Context(autoescape=autoescape)
    text, expected = templates.render_value(value, context), templates._django(value, context)
    assert text == expected
    assert not autoescape or isinstance(text, SafeString)


def test_templates_print_with_it() -> None:
    template = Template(
        '{{ text }} {{ html }} {{ number }} {% firstof "" text %}{% autoescape off %}{{ text }}{% endautoescape %}'
    )
    context = Context({"text": "<a>", "html": mark_safe("<i>"), "number": 1234567})
    assert template.render(context) == "&lt;a&gt; <i> 1234567 &lt;a&gt;<a>"
    modules: tuple[Any, ...] = (base, defaulttags, i18n)
    assert {module.render_value_in_context for module in modules} == {templates.render_value}
