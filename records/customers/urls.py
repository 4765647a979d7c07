"""The operations of the customer endpoint; start reading here."""

from records.customers import examples
from records.customers.serializers import CustomerChangeSerializer, CustomerSerializer
from records.customers.views import CustomerViewSet
from records.operations.operation import (
    MANAGER,
    SITE_ADMINISTRATOR,
    Parameter,
    adds,
    declare_permission,
    lists,
    operation_urls,
    reads,
    updates,
)

declare_permission("customers.archive_customer", MANAGER)
declare_permission("customers.erase_contact", SITE_ADMINISTRATOR)

urlpatterns = operation_urls(
    CustomerViewSet,
    adds("AddCustomer", MANAGER, CustomerSerializer, examples.ADD_CUSTOMER),
    reads("GetCustomer", CustomerSerializer, examples.GET_CUSTOMER),
    lists(
        "GetCustomerList",
        CustomerSerializer,
        examples.GET_CUSTOMER_LIST,
        Parameter("name", lookup="name_key"),
        Parameter("code", lookup="code_key"),
        Parameter(
            "countryId",
            "id",
            "postal_address_country_id",
            "The country of the postal or the physical address.",
            other_lookups=("physical_address_country_id",),
        ),
    ),
    updates("UpdateCustomer", MANAGER, CustomerChangeSerializer, examples.UPDATE_CUSTOMER),
)
