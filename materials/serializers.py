"""The JSON shape of materials: names in camelCase, except `Id`, in the order of the documented interface."""

from typing import Any

from rest_framework import serializers

from materials.models import Material
from records.operations import fields as wire
from records.operations.operation import FaultShape
from records.operations.serializers import WireSerializer


class MaterialSerializer(WireSerializer):
    """A material. `Id` names the one to change; `reasonForChange` shows the reason for the last change."""

    Id = wire.IdField(required=False, allow_null=False)
    isArchived = wire.BooleanField(required=False)  # noqa: N815 (the wire's name)

    class Meta:
        model = Material
        fields = (
            "Id",
            "externalId",
            "name",
            "siteSequenceId",
            "ourCode",
            "supplierCode",
            "description",
            "materialCategoryId",
            "entityFolderId",
            "countryOfOrigin",
            "risk",
            "reasonForChange",
            "created",
            "lastModified",
            "createdBy",
            "lastModifiedBy",
            "isArchived",
        )
        required = ("externalId", "name")
        may_be_blank = ("externalId", "name")


class MaterialResult(serializers.Serializer[Any]):
    """The result for one material of a posted array."""

    externalId = serializers.CharField(help_text="As it was sent.")  # noqa: N815
    Error = serializers.CharField(help_text="Empty on success, else the code of the refusal.")
    Message = serializers.CharField(help_text="`Success.` on success, else what is wrong.")
    Id = serializers.CharField(help_text="Id of the material; empty when it was refused.")
    Outcome = serializers.ChoiceField(choices=("Added", "Changed", "Unchanged", "Refused"))
    Fields = FaultShape(many=True, help_text="Every fault of a refused material; empty on success.")
