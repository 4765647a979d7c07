"""The parameters of a query are those that Django reads, and are written as Django writes them."""

from urllib.parse import urlencode

import pytest
from django.http import QueryDict
from django.test import RequestFactory

from records.operations.queries import PLAIN_LENGTH, encode_query, query_parameters

QUERIES = (
    "",
    "&&",
    "limit=100&siteId=3d9029a2-69e1-4d77-9a78-9608682db3ff",
    "sort=name,code&sort=x&order",
    "a==b&=c&d=",
    "name=a+b&search=%26%3D%20",
    "search=Müller&x=%FF",
    "a=1;b=2&c=(d)",
    f"search={'x' * PLAIN_LENGTH}&a=b",
)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_read_as_django_reads_it(query: str) -> None:
    request = RequestFactory().get("/", QUERY_STRING=query)
    assert query_parameters(request) == dict(request.GET.lists())


@pytest.mark.parametrize("query", QUERIES)
def test_parameters_are_written_as_they_were_before(query: str) -> None:
    pairs = [*QueryDict(query).items(), ("startIndex", 100), ("modifiedSince", "2026-11-30T11:25:52.391Z")]
    assert encode_query(pairs) == urlencode(pairs, safe=",:")
