"""The back-office pages of customers."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from records.backoffice.choice_filters import ArchivedFilter
from records.backoffice.filter_bar import ReferenceFilter
from records.backoffice.inlines import RowsTabular
from records.backoffice.records import RecordAdmin
from records.backoffice.transitions import ARCHIVE, RESTORE
from records.customers import actions
from records.customers.models import Customer, PartyContact
from records.customers.transitions import ERASE


class ContactRows(RowsTabular):
    """The people to talk to on a customer's page."""

    model = PartyContact


@admin.register(Customer)
class CustomerAdmin(RecordAdmin):
    """Customers, with their addresses and contacts."""

    record_actions = (ARCHIVE, RESTORE, ERASE)
    add_action = staticmethod(actions.add_customer)
    update_action = staticmethod(actions.update_customer)
    inlines = (ContactRows,)
    list_filter = (ArchivedFilter, ("physical_address_country", ReferenceFilter), ("entity_folder", ReferenceFilter))
    list_display = ("site_sequence_id", "name", "code", "physical_address_city", "telephone")
    list_display_links = ("site_sequence_id", "name")
    search_fields = Customer.SEARCHED
    fieldsets = (
        (None, {"fields": ("name", "code", "telephone", "ddi", "fax", "note", "entity_folder")}),
        (
            _("Postal address"),
            {
                "fields": (
                    "postal_address_street",
                    "postal_address_po_box",
                    "postal_address_city",
                    "postal_address_state",
                    "postal_address_country",
                )
            },
        ),
        (
            _("Physical address"),
            {
                "fields": (
                    "physical_address_street",
                    "physical_address_po_box",
                    "physical_address_city",
                    "physical_address_state",
                    "physical_address_country",
                    "lat",
                    "lng",
                )
            },
        ),
    )
