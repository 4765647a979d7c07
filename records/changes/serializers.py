"""The shape of a row of the feed."""

from typing import Any

from rest_framework import serializers

from records.history.models import Channel


class ChangeShape(serializers.Serializer[Any]):
    """One change of a record: what was changed, when and by whom, without values."""

    Number = serializers.IntegerField(help_text="The position in the site's chain. Numbers increase, with gaps.")
    Date = serializers.DateTimeField(help_text="When the change was made.")
    Entity = serializers.CharField(help_text="The kind of record, such as `Employee` or `AuditProgram`.")
    RecordId = serializers.UUIDField(help_text="Id of the record.")
    Operation = serializers.CharField(help_text="The operation that made the change.")
    Channel = serializers.ChoiceField(choices=Channel.choices, help_text="The interface by which the change was made.")
    AuthorId = serializers.UUIDField(allow_null=True, help_text="Id of the user who made it.")
    Fields = serializers.ListField(
        child=serializers.CharField(),
        help_text="Names of the changed fields, without those that the caller may not see.",
    )
