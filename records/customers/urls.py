"""The operations of the customer endpoint; start reading here."""

from records.customers import examples
from records.customers.serializers import CustomerChangeSerializer, CustomerSerializer
from records.customers.views import CustomerViewSet
from records.operations.operation import (
    MANAGER,
    READER,
    SITE_ADMINISTRATOR,
    Operation,
    Parameter,
    operation_urls,
    permits,
)
from records.operations.schema import WriteResult

permits("customers.archive_customer", MANAGER)
permits("customers.erase_contact", SITE_ADMINISTRATOR)

urlpatterns = operation_urls(
    CustomerViewSet,
    Operation(
        method="POST",
        name="AddCustomer",
        permission="customers.add_customer",
        role=MANAGER,
        request=CustomerSerializer,
        response=WriteResult,
        examples=examples.ADD_CUSTOMER,
    ),
    Operation(
        method="GET",
        name="GetCustomer",
        permission="customers.view_customer",
        role=READER,
        takes_id=True,
        response=CustomerSerializer,
        examples=examples.GET_CUSTOMER,
    ),
    Operation(
        method="GET",
        name="GetCustomerList",
        permission="customers.view_customer",
        role=READER,
        many=True,
        response=CustomerSerializer,
        parameters=(
            Parameter("name", lookup="name_key"),
            Parameter("code", lookup="code_key"),
            Parameter(
                "countryId",
                "id",
                "postal_address_country_id",
                "The country of the postal or the physical address.",
                also=("physical_address_country_id",),
            ),
        ),
        examples=examples.GET_CUSTOMER_LIST,
    ),
    Operation(
        method="PUT",
        name="UpdateCustomer",
        permission="customers.change_customer",
        role=MANAGER,
        takes_id=True,
        request=CustomerChangeSerializer,
        response=WriteResult,
        examples=examples.UPDATE_CUSTOMER,
    ),
)
