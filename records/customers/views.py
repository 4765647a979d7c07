"""The customer endpoint: reads stop here, writes call the actions."""

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
        values = self.body(CustomerSerializer)
        customer = self.acting(actions.add_customer, self.site_id, values, author=self.author)
        return self.written(customer.pk, customer.revision)

    def update_customer(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Change a customer: an absent field stays, PartyContacts that is present is the whole new array."""
        values = self.body(CustomerChangeSerializer)
        customer = self.acting(
            actions.update_customer, self.site_id, id, values, author=self.author, precondition=self.precondition
        )
        return self.written(customer.pk, customer.revision)

    def get_customer(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Read one customer with its contacts."""
        return self.record(CustomerSerializer, id)

    def get_customer_list(self, request: Request) -> HttpResponse:
        """List the site's customers."""
        return self.listing(CustomerSerializer, CUSTOMERS)
