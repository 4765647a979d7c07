"""The customer endpoint: reads are handled here, writes call the actions."""

import uuid

from django.http import HttpResponse
from rest_framework.request import Request

from records.customers import actions
from records.customers.serializers import CustomerChangeSerializer, CustomerSerializer
from records.operations.lists import ListRules
from records.operations.viewsets import OperationViewSet

CUSTOMERS = ListRules(search=("name_key", "code_key"))


class CustomerViewSet(OperationViewSet):
    """Customers of the caller's site."""

    def add_customer(self, request: Request) -> HttpResponse:
        """Add a customer with its contacts."""
        return self.add_record(CustomerSerializer, actions.add_customer)

    def update_customer(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Change a customer: an absent field stays, PartyContacts that is present is the whole new array."""
        return self.update_record(CustomerChangeSerializer, actions.update_customer, id)

    def get_customer(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Read one customer with its contacts."""
        return self.record(CustomerSerializer, id)

    def get_customer_list(self, request: Request) -> HttpResponse:
        """List the site's customers."""
        return self.listing(CustomerSerializer, CUSTOMERS)
