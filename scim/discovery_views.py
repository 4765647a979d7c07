"""The endpoints by which the service describes itself: ServiceProviderConfig, ResourceTypes and Schemas."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django_scim import views as stock

from scim import discovery, lists
from scim.errors import Refused, not_found
from scim.representations import Representation
from scim.views import ProvisioningRequest, ProvisioningView, answer


class DiscoveryView(ProvisioningView):
    """The service's description of itself, which cannot be filtered (RFC 7644 section 4)."""

    def _refuse_filter(self, request: HttpRequest) -> None:
        if any(name.lower() == "filter" for name in request.GET):
            raise Refused(403, "Filters are not allowed on what the service says about itself.")

    def _answer_one_or_all(
        self,
        request: ProvisioningRequest,
        kind: str,
        key: str | None,
        every: Callable[..., list[Representation]],
        one: Callable[..., Representation | None],
    ) -> HttpResponse:
        """Answer all documents of a kind, or the one with this key; raises Refused (403 for a filter, 404)."""
        self._refuse_filter(request)
        if key is None:
            return answer(lists.whole_list(every(request.caller)))
        found = one(request.caller, key)
        if found is None:
            raise not_found(kind, key)
        return answer(found)


class ServiceProviderConfigView(DiscoveryView, stock.ServiceProviderConfigView):
    """The endpoint ServiceProviderConfig."""

    def get(self, request: ProvisioningRequest) -> HttpResponse:
        """Answer the ServiceProviderConfig."""
        self._refuse_filter(request)
        return answer(discovery.service_provider_config(request.caller))


class ResourceTypesView(DiscoveryView, stock.ResourceTypesView):
    """The endpoints ResourceTypes and ResourceTypes/<name>."""

    def get(self, request: ProvisioningRequest, uuid: str | None = None) -> HttpResponse:
        """Answer all resource types, or one by its name."""
        every, one = discovery.resource_type_documents, discovery.resource_type_document
        return self._answer_one_or_all(request, "ResourceType", uuid, every, one)


class SchemasView(DiscoveryView, stock.SchemasView):
    """The endpoints Schemas and Schemas/<name or URN>."""

    def get(self, request: ProvisioningRequest, uuid: str | None = None) -> HttpResponse:
        """Answer all schemas, or one by its URN or by its resource's name."""
        every, one = discovery.schema_documents, discovery.schema_document
        return self._answer_one_or_all(request, "Schema", uuid, every, one)
