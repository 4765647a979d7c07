"""The import and export of customers."""

from records.backoffice.transfer.registry import transferable
from records.backoffice.transfer.resources import RecordResource
from records.customers import actions
from records.customers.models import Customer
from records.customers.serializers import CustomerSerializer
from records.operations.tables import WireTable
from records.sites.writing import Values


@transferable
class CustomerResource(RecordResource):
    """Customers with their contacts."""

    model = Customer
    table = WireTable(CustomerSerializer)

    def add(self, values: Values) -> Customer:
        """Add a customer."""
        return actions.add_customer(self.site_id, values, author=self.author, reason=self.reason)

    def change(self, record: Customer, values: Values) -> Customer:
        """Change a customer."""
        return actions.update_customer(self.site_id, record.pk, values, author=self.author, reason=self.reason)
