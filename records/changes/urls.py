"""The operation of the change endpoint; start reading here."""

from records.changes import examples
from records.changes.serializers import ChangeShape
from records.changes.views import ChangeViewSet
from records.operations.lists import LARGEST_PAGE
from records.operations.operation import READER, Operation, Parameter, operation_urls

urlpatterns = operation_urls(
    ChangeViewSet,
    Operation(
        method="GET",
        name="GetChangeList",
        permission="history.follow_change",
        role=READER,
        response=ChangeShape(many=True),
        parameters=(
            Parameter("after", "position", description="Only changes with a higher Number; 0 starts at the first."),
            Parameter("limit", "integer", description="The most rows to answer; 100 by default.", highest=LARGEST_PAGE),
            Parameter("entity", description="Only changes of these kinds of record. Repeat it or separate by commas."),
        ),
        headers={"X-Last-Number": "The newest Number of the site's changes, also if the answer does not contain it."},
        examples=examples.GET_CHANGE_LIST,
    ),
)
