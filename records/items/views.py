"""The item endpoint: reads stop here, writes call the actions."""

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
        values = self.body(ItemSerializer)
        item = self.acting(actions.add_item, self.site_id, values, author=self.author)
        return self.written(item.pk, item.revision)

    def update_item(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Change an item: an absent field keeps its value."""
        values = self.body(ItemChangeSerializer)
        item = self.acting(
            actions.update_item, self.site_id, id, values, author=self.author, precondition=self.precondition
        )
        return self.written(item.pk, item.revision)

    def get_item(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Read one item."""
        return self.record(ItemSerializer, id)

    def get_item_list(self, request: Request) -> HttpResponse:
        """List the site's items."""
        return self.listing(ItemSerializer, ITEMS)
