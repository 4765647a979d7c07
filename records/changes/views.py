"""The change endpoint: one read, which follows a site's chain."""

from django.http import HttpResponse
from rest_framework.request import Request

from records.changes import feed
from records.operations import lists, queries, values
from records.operations.names import match_name, unknown
from records.operations.viewsets import OperationViewSet


class ChangeViewSet(OperationViewSet):
    """The changes of the caller's site, without values."""

    def get_change_list(self, request: Request) -> HttpResponse:
        """List the changes above a number, in the order in which they were made, as far as the caller may see them.

        Ask next with the Number of the last row as `after`. Whatever has a number is stored for good, and nothing
        appears below a number that was read. `X-Last-Number` is the newest number of the site, whatever `limit` cuts.
        """
        after = queries.integer(self.query, "after", 0, 0, values.INTEGER_LIMIT)
        limit = queries.integer(self.query, "limit", lists.USUAL_PAGE, 1, lists.LARGEST_PAGE)
        last = feed.last_number(self.site_id)
        rows = feed.rows(
            self.site_id, self.caller.permissions, after=after, up_to=last, limit=limit, only=self.entities_in_query()
        )
        response = self.json(list(rows))
        response["X-Last-Number"] = str(last)
        return response

    def entities_in_query(self) -> set[str]:
        """Return the entities that the query names, in any case; raises the 400 InvalidParameter for another word."""
        entities, names = feed.entities(), set[str]()
        for word in (word.strip() for value in self.query.get("entity", ()) for word in value.split(",")):
            name = match_name(word, entities)
            if name is None:
                raise queries.invalid("entity", unknown(word, entities, "entity"))
            names.add(name)
        return names
