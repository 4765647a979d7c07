"""The item endpoint: reads are handled here, writes call the actions."""

import uuid

from django.http import HttpResponse
from rest_framework.request import Request

from records.items import actions
from records.items.serializers import ItemChangeSerializer, ItemSerializer
from records.operations.lists import ListRules
from records.operations.viewsets import OperationViewSet

ITEMS = ListRules(search=("name_key", "code_key", "serial_number_key", "location_key"))


class ItemViewSet(OperationViewSet):
    """Items of the caller's site."""

    def add_item(self, request: Request) -> HttpResponse:
        """Add an item."""
        return self.add_record(ItemSerializer, actions.add_item)

    def update_item(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Change an item: an absent field keeps its value."""
        return self.update_record(ItemChangeSerializer, actions.update_item, id)

    def get_item(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Read one item."""
        return self.record(ItemSerializer, id)

    def get_item_list(self, request: Request) -> HttpResponse:
        """List the site's items."""
        return self.listing(ItemSerializer, ITEMS)
