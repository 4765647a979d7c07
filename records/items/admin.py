"""The back-office pages of items."""

from django.contrib import admin

from records.backoffice.choice_filters import ArchivedFilter
from records.backoffice.filter_bar import ReferenceFilter
from records.backoffice.records import RecordAdmin
from records.items import actions
from records.items.models import Item


@admin.register(Item)
class ItemAdmin(RecordAdmin):
    """Items, found by name, code, serial number, place or notes."""

    add_action = staticmethod(actions.add_item)
    update_action = staticmethod(actions.update_item)
    list_display = ("site_sequence_id", "name", "code", "serial_number", "location")
    list_display_links = ("site_sequence_id", "name")
    list_filter = (ArchivedFilter, ("entity_folder", ReferenceFilter))
    search_fields = Item.SEARCHED
    fieldsets = ((None, {"fields": ("name", "code", "serial_number", "location", "notes", "entity_folder")}),)
