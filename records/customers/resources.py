"""The import and export of customers."""

from records.backoffice.transfer.registry import transferable
from records.backoffice.transfer.resources import RecordResource
from records.customers import actions
from records.customers.models import Customer
from records.customers.serializers import CustomerSerializer
from records.operations.tables import WireTable


@transferable
class CustomerResource(RecordResource):
    """Customers, with their contacts."""

    model = Customer
    table = WireTable(CustomerSerializer)
    add_action = staticmethod(actions.add_customer)
    update_action = staticmethod(actions.update_customer)
