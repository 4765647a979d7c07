"""The endpoints by which the service describes itself: ServiceProviderConfig, ResourceTypes and Schemas."""

from django.http import HttpRequest, HttpResponse
from django_scim import views as stock

from scim import discovery
from scim.calls import ProvisioningRequest, ProvisioningView, scim_response
from scim.errors import ScimError, not_found
from scim.representations import Representation, list_response


class DiscoveryView(ProvisioningView):
    """The service's description of itself, which cannot be filtered (RFC 7644 section 4)."""

    def _refuse_filter(self, request: HttpRequest) -> None:
        if any(name.lower() == "filter" for name in request.GET):
            raise ScimError(403, "Filters are not allowed on what the service says about itself.")

    def _answer_one_or_all(
        self, request: ProvisioningRequest, kind: str, key: str | None, documents: list[Representation]
    ) -> HttpResponse:
        """Answer all documents of a kind, or the one with this id or name, in any case; raises ScimError (403, 404)."""
        self._refuse_filter(request)
        if key is None:
            return scim_response(list_response(documents, len(documents), 1))
        for document in documents:
            if key.lower() in (document["id"].lower(), document["name"].lower()):
                return scim_response(document)
        raise not_found(kind, key)


class ServiceProviderConfigView(DiscoveryView, stock.ServiceProviderConfigView):
    """The endpoint ServiceProviderConfig."""

    def get(self, request: ProvisioningRequest) -> HttpResponse:
        """Answer the ServiceProviderConfig."""
        self._refuse_filter(request)
        return scim_response(discovery.service_provider_config(request.caller))


class ResourceTypesView(DiscoveryView, stock.ResourceTypesView):
    """The endpoints ResourceTypes and ResourceTypes/<name>."""

    def get(self, request: ProvisioningRequest, uuid: str | None = None) -> HttpResponse:
        """Answer all resource types, or one by its name."""
        return self._answer_one_or_all(request, "ResourceType", uuid, discovery.resource_type_documents(request.caller))


class SchemasView(DiscoveryView, stock.SchemasView):
    """The endpoints Schemas and Schemas/<name or URN>."""

    def get(self, request: ProvisioningRequest, uuid: str | None = None) -> HttpResponse:
        """Answer all schemas, or one by its URN or by its resource's name."""
        return self._answer_one_or_all(request, "Schema", uuid, discovery.schema_documents(request.caller))
