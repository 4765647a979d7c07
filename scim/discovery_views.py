"""The endpoints by which the service describes itself: ServiceProviderConfig, ResourceTypes and Schemas."""

from django.http import HttpRequest, HttpResponse
from django_scim import views as stock

from scim import discovery, lists
from scim.errors import Refused, not_found
from scim.views import ProvisioningRequest, ProvisioningView, answer


class DiscoveryView(ProvisioningView):
    """The service's description of itself, which cannot be filtered (RFC 7644 section 4)."""

    def _refuse_filter(self, request: HttpRequest) -> None:
        if any(name.lower() == "filter" for name in request.GET):
            raise Refused(403, "Filters are not allowed on what the service says about itself.")


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
        self._refuse_filter(request)
        if uuid is None:
            return answer(lists.whole_list(discovery.resource_type_documents(request.caller)))
        found = discovery.resource_type_document(request.caller, uuid)
        if found is None:
            raise not_found("ResourceType", uuid)
        return answer(found)


class SchemasView(DiscoveryView, stock.SchemasView):
    """The endpoints Schemas and Schemas/<name or URN>."""

    def get(self, request: ProvisioningRequest, uuid: str | None = None) -> HttpResponse:
        """Answer all schemas, or one by its URN or by its resource's name."""
        self._refuse_filter(request)
        if uuid is None:
            return answer(lists.whole_list(discovery.schema_documents(request.caller)))
        found = discovery.schema_document(request.caller, uuid)
        if found is None:
            raise not_found("Schema", uuid)
        return answer(found)
