"""The wire shape of materials: camelCase, with `Id` spelt as in the document."""

from typing import Any

from rest_framework import serializers

from materials.models import Material
from records.operations import fields as wire
from records.operations.schema import FaultShape
from records.operations.serializers import WireSerializer


class MaterialSerializer(WireSerializer):
    """A material, in the document's order; `Id` names the one to change, `reasonForChange` reads as the last one."""

    Id = wire.IdField(required=False)
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
    """What became of one material of an array that was posted."""

    externalId = serializers.CharField(help_text="As it was sent.")  # noqa: N815
    Error = serializers.CharField(help_text="Empty on success, else the code of the refusal.")
    Message = serializers.CharField(help_text="`Success.` on success, else what is wrong.")
    Id = serializers.CharField(help_text="Id of the material; empty when it was refused.")
    Outcome = serializers.ChoiceField(choices=("Added", "Changed", "Unchanged", "Refused"))
    Fields = FaultShape(many=True, help_text="Every fault of a refused material; empty on success.")
