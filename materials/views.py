"""The materials endpoint. Reads are handled here; writes call the actions."""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from django.conf import settings
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError
from django.db.models import Model
from django.http import HttpResponse
from rest_framework.request import Request

from materials import actions, paths, renderers, upserts
from materials.credentials import KeyAndTokenAuthentication, insufficient_scope, scope_of
from materials.serializers import MaterialSerializer
from records.accounts.keys import Caller
from records.accounts.tokens import TokenCaller
from records.history.trail import beginning
from records.operations import bodies, conditional, errors, limits, lists, queries
from records.operations.credentials import KEY_HEADER
from records.operations.own_headers import put
from records.operations.plans import KeyQuery
from records.operations.viewsets import OperationViewSet
from records.sites.text import read_uuid
from records.sites.writing import Precondition, RecordNotFoundError

MATERIALS = lists.ListRules(search=("external_id", "name", "our_code", "supplier_code"))
NO_SITE = "There is no such site, or your roles do not allow this there."


class MaterialViewSet(OperationViewSet):
    """Materials of the site in `siteId`, in JSON or XML."""

    authentication_classes = (KeyAndTokenAuthentication,)  # type: ignore[assignment]
    permission_classes = ()  # type: ignore[assignment]
    media_types: ClassVar[tuple[str, ...]] = renderers.MEDIA_TYPES
    credential_headers: ClassVar[tuple[str, ...]] = (KEY_HEADER, "Authorization")

    # --- Before the method ------------------------------------------------------------------------------------------

    def spend(self, caller: Caller) -> limits.Allowance:
        """Count the request against the key and against the token; returns the smaller allowance."""
        of_key = super().spend(caller)
        of_token = limits.spend("token", str(caller.token_id), settings.RATE_LIMIT)  # type: ignore[attr-defined]
        return min(of_token, of_key, key=lambda allowance: allowance.remaining)

    def check_permissions(self, request: Request) -> None:
        """Check the token's scope; the roles are checked when the site is known."""
        caller: TokenCaller = self.caller  # type: ignore[assignment]
        if self.operation is not None:
            scope = scope_of(self.operation)
            if scope not in caller.scopes:
                raise insufficient_scope(scope)

    def check_parameters(self) -> None:
        """Read the query and switch to the site in `siteId`; raises 400, or 404 if the caller may not act there."""
        super().check_parameters()
        texts = self.query.get("siteId", [])
        site_id = read_uuid(texts[0].strip()) if texts else None
        if site_id is None:
            text = "This must be the Id of one site: a UUID of 36 characters." if texts else "This is required."
            raise queries.invalid("siteId", text)
        caller: TokenCaller = self.caller  # type: ignore[assignment]
        caller_at_site = caller.at(site_id)
        if self.operation is not None and not caller_at_site.may(self.operation.permission):
            raise errors.ApiError(404, "NotFound", NO_SITE)
        self.caller = caller_at_site

    def check_path_id(self) -> None:
        """Replace the path's text by the material's Id; an external id that matches has priority (DECISIONS 3).

        A read finds the Id in its own statement, unless the text has two possible meanings.
        """
        texts = paths.spellings(self.http_request, self.kwargs["id"])
        if self.operation is not None and not self.operation.writes and len(texts) == 1:
            self.kwargs["id"] = paths.by_text(self.site_id, texts[0])
        else:
            self.kwargs["id"] = paths.material_id(self.site_id, texts)

    def run(self, handler: Callable[..., HttpResponse]) -> HttpResponse:
        """Call the method and answer in the requested media type."""
        media_type = renderers.in_xml(self.http_request)
        self.variant = renderers.VARIANT if media_type else ""
        try:
            response = upserts.retry_on_race(partial(super().run, handler))
        except IntegrityError as raced:
            raise errors.unavailable() from raced
        put(response, {"Vary": "Accept"})
        if response.has_header("ETag"):
            # The answer that is stored under an Idempotency-Key may be in the other media type.
            response["ETag"] = conditional.as_variant(response["ETag"], self.variant)
        return renderers.as_xml(response, media_type) if media_type else response

    def render_refusal(self, refusal: errors.ApiError) -> HttpResponse:
        """Answer a refusal in the requested media type."""
        return renderers.refusal(self.http_request, refusal)

    # --- The operations ---------------------------------------------------------------------------------------------

    def get_list_of_material(self, request: Request) -> HttpResponse:
        """List the site's materials."""
        return self.listing(MaterialSerializer, MATERIALS)

    def get_material_by_id(self, request: Request, id: uuid.UUID | KeyQuery) -> HttpResponse:
        """Read one material by its external id or its Id; an external id that matches has priority."""
        return self.record(MaterialSerializer, id)

    def post_material(self, request: Request) -> HttpResponse:
        """Add or change one material, or each material of an array of up to 500 independently.

        A material is found by `Id` if it is given, else by a non-empty externalId at the site; otherwise it is added.
        If isArchived is omitted, it stays as it is; `false` restores the material. An archived material can be changed
        too, and Message then says that it stays archived. The answer to an array is an array of results in the same
        order. If-Match names the revision of a single material that is to be changed.
        """
        body = bodies.decode(self.raw_body()) if self.raw_body() else None
        rows = body if isinstance(body, list) else [body]
        if body is not rows and not isinstance(body, dict):
            raise errors.ApiError(400, "MalformedJson", "The body must be a JSON object, or an array of them.")
        if body is rows and self.precondition is not None:
            text = "If-Match and If-None-Match name one material. Send it alone instead of in an array."
            raise errors.ApiError(412, "PreconditionFailed", text)
        if len(rows) > upserts.MOST_MATERIALS:
            text = f"An array may contain at most {upserts.MOST_MATERIALS} materials; this one contains {len(rows)}."
            raise errors.ApiError(400, "ValidationFailed", text)
        outcomes = self._upsert(rows)
        if body is rows:
            return self.json([_result(*one, validated=self.validates_only) for one in zip(rows, outcomes, strict=True)])
        (outcome,) = outcomes
        if isinstance(outcome, Exception):
            raise _refusal(outcome) from outcome
        return self.write_response(outcome.material.pk, outcome.material.revision, note=_note(outcome))

    def _upsert(self, rows: list[object]) -> list[upserts.Outcome]:
        """Store what the entries of a body describe; returns the outcome of each."""
        read_rows = [MaterialSerializer.read_body(row) if isinstance(row, dict) else ({}, [_NO_OBJECT]) for row in rows]
        precondition = self.precondition

        def valid_upserts() -> list[upserts.DesiredMaterial]:
            return [_desired_material(values, precondition) for values, faults in read_rows if not faults]

        with beginning():
            reference_faults = self.resolve(
                [values for values, _ in read_rows],
                MaterialSerializer,
                lambda: [query.statement for query in upserts.asking(self.site_id, valid_upserts())],
            )
            for (_, faults), further_faults in zip(read_rows, reference_faults, strict=True):
                faults += [fault for fault in further_faults if fault not in faults]
            outcomes = iter(upserts.upsert_all(self.site_id, valid_upserts(), author=self.author, may=self.caller.may))
        return [errors.invalid(faults) if faults else next(outcomes) for _, faults in read_rows]

    def delete_material(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Archive a material; repeating it changes nothing. A body with fields is refused."""
        reason = self.query.get("reasonForChange", [""])[-1]
        self.serializer = MaterialSerializer
        material = self.call_action(
            actions.archive_material,
            self.site_id,
            id,
            archived=True,
            author=self.author,
            operation="DeleteMaterial",
            reason=reason,
            precondition=self.precondition,
        )
        return self.write_response(material.pk, material.revision)


_NO_OBJECT = errors.FieldError("", "InvalidValue", "Each entry of the array must be an object.")


def _desired_material(body: dict[str, Any], precondition: Precondition | None) -> upserts.DesiredMaterial:
    values = {name: value for name, value in body.items() if name not in ("id", "reason_for_change")}
    if values.get("is_archived", False) is None:
        del values["is_archived"]
    return upserts.DesiredMaterial(values, body.get("id"), body.get("reason_for_change", ""), precondition)


def _refusal(error: Exception) -> errors.ApiError:
    """Return the refusal for an action's exception; an exception that the caller did not cause is raised again."""
    match error:
        case errors.ApiError():
            return error
        case ValidationError():
            return errors.validation_refusal(error, MaterialSerializer.wire_name)
        case RecordNotFoundError() | PermissionDenied():
            return errors.refusal_of(error)
    raise error


def _note(result: upserts.StoredMaterial) -> str:
    """Return the sentence that is added to Message when a changed material stays archived (DECISIONS 1.17)."""
    return " The material stays archived; send isArchived false to restore it." if result.stays_archived else ""


def _result(row: Model, outcome: upserts.Outcome, *, validated: bool) -> dict[str, object]:
    """Return the result for one row of an array; `validated` says that nothing was stored."""
    external_id = row.get("externalId") if isinstance(row, dict) else ""
    result: dict[str, object] = {"externalId": external_id if isinstance(external_id, str) else ""}
    if isinstance(outcome, upserts.StoredMaterial):
        key = "" if validated else str(outcome.material.pk)
        text = ("Valid." if validated else "Success.") + _note(outcome)
        return result | {"Error": "", "Message": text, "Id": key, "Outcome": outcome.outcome, "Fields": []}
    refusal = _refusal(outcome)
    messages = [f"{fault.field}: {fault.message}" if fault.field else fault.message for fault in refusal.fields]
    text = " ".join(messages) if len(messages) > 1 else refusal.message
    fields = [fault.shape() for fault in refusal.fields]
    return result | {"Error": refusal.code, "Message": text, "Id": "", "Outcome": "Refused", "Fields": fields}
