"""The base class of every endpoint's viewset: it reads the body, calls the action and answers."""

import re
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import orjson
from django.db import models
from django.http import HttpResponse

from records.accounts.opening import StaleAccessError
from records.history.trail import LateStatements, beginning
from records.operations import bodies, conditional, errors, lists
from records.operations.calling import CalledViewSet
from records.operations.own_headers import put
from records.operations.plans import KeyQuery, ReadPlan, Shape
from records.operations.references import resolve_all
from records.operations.serializers import WireSerializer, source_of
from records.sites.about import AboutRecord
from records.sites.checking import faults_in
from records.sites.hidden import exists_for, keep_hidden, visible_to
from records.sites.models import SiteRecord
from records.sites.writing import Values, locking_with_content

Check = Callable[[], object]


def _top(field: str) -> str:
    """Return the body's own field in the place of a fault: `EmploymentHistory` of `EmploymentHistory[0].StartDate`."""
    return re.split(r"[\[.]", field, maxsplit=1)[0]


class OperationViewSet(CalledViewSet):
    """What the methods of all endpoints use: a body's values, calling an action, records, pages and success answers."""

    def body(
        self, serializer: type[WireSerializer], statements_for_next_block: LateStatements | None = None
    ) -> dict[str, Any]:
        """Return the body's values under model names, with references as records; raises the 400 with all faults.

        The look-up of the references can begin the write; `statements_for_next_block` is that of `run_at_begin`.
        """
        return self.read_values(bodies.decode_object(self.raw_body()), serializer, statements_for_next_block)

    def read_values(
        self,
        body: Mapping[str, Any],
        serializer: type[WireSerializer],
        statements_for_next_block: LateStatements | None = None,
    ) -> dict[str, Any]:
        """Return the values of a decoded body, without private fields if the caller may not see them.

        Such a caller reads private fields as empty and may send them back so; raises the 403 for anything else in them.
        """
        self.serializer = serializer
        values, faults = serializer.read_body(body)
        faults += self.resolve([values], serializer, statements_for_next_block)[0]
        if not self.sees_private(serializer):
            fields = serializer.wire_fields()
            private_values = {
                name: values.pop(source_of(name, fields[name]), None) for name in serializer.option("private")
            }
            if names := sorted(name for name, value in private_values.items() if value not in (None, "", [])):
                raise errors.ApiError(403, "Forbidden", f"Your roles do not let you set {', '.join(names)}.")
        self.body_values = values
        if faults:
            raise errors.invalid(self.with_others(faults))
        return self.keeping_hidden(values, serializer)

    def resolve(
        self,
        rows: Sequence[dict[str, Any]],
        serializer: type[WireSerializer],
        statements_for_next_block: LateStatements | None = None,
    ) -> list[list[errors.FieldError]]:
        """Replace the ids in decoded bodies by records, and prove the caller; returns the faults of each body."""
        if not self.proven and self.caller.proof is None:
            raise StaleAccessError
        visible_rows = partial(visible_to, self.caller.user_id, self.caller.may)
        faults = resolve_all(rows, serializer, self.site_id, visible_rows, self.proof, statements_for_next_block)
        self.proven = True
        return faults

    def keeping_hidden(self, values: dict[str, Any], serializer: type[WireSerializer]) -> dict[str, Any]:
        """Return the values of an update, completed by the references that the caller does not see.

        Raises the 404 if the record itself does not exist for the caller.
        """
        operation, plan = self.operation, self.plan_of(serializer)
        if operation is None or not operation.takes_id or plan.reader is None:
            return values
        record = self.stored_record(serializer)
        if record is None:
            raise errors.not_found()
        return keep_hidden(record, values, self.caller.user_id, self.caller.may)

    def stored_record(self, serializer: type[WireSerializer]) -> Any:
        """Return the record that the path names if the site has it and it exists for the caller, or None."""
        rows = self.plan_of(serializer).for_rows().visible_rows(self.records(serializer.Meta.model))
        return rows.filter(site_id=self.site_id, pk=self.kwargs["id"]).first()

    def with_others(self, faults: list[errors.FieldError]) -> list[errors.FieldError]:
        """Return the faults and all other problems of the body, so that they are reported together (DECISIONS 6).

        A fault of the record's own checks is added only if its field has no fault yet.
        """
        serializer, operation = self.serializer, self.operation
        if not self.body_values or operation is None or operation.entry_response is not None:
            return faults
        model: Any = serializer.Meta.model
        record = model(site_id=self.site_id)
        if operation.takes_id:
            record = self.stored_record(serializer)
        if record is None:
            return faults
        faulty_fields = {part for fault in faults for part in (fault.field, _top(fault.field))}
        error = faults_in(record, self.body_values, self.checks_of_action(record, self.body_values, faulty_fields))
        fields, all_faults = serializer.wire_fields(), [*faults]
        for fault in [] if error is None else errors.faults_of(error, serializer.wire_name):
            field = fields.get(_top(fault.field))
            if fault.field not in faulty_fields and field is not None and not field.read_only:
                faulty_fields.add(fault.field)
                all_faults.append(fault)
        return all_faults

    def checks_of_action(self, record: models.Model, values: Values, faulty: Collection[str]) -> list[Check]:
        """Return the checks of the body that the action makes beyond those of every record; they raise ValidationError.

        `record` is a new one or as it is stored. `values` are the body's, and `faulty` the fields that have a fault
        already, which need no other.
        """
        if not isinstance(record, AboutRecord) or "RecordId" in faulty:
            return []
        return [partial(record.point_as, {**values}, self.sees)]

    def sees(self, record: SiteRecord) -> bool:
        """Return whether a record of the site, of a kind whose records can be hidden, exists for the caller."""
        return exists_for(record, self.caller.user_id, self.caller.may)

    def sees_private(self, serializer: type[WireSerializer]) -> bool:
        """Return whether the caller may see and change the serializer's private fields."""
        permission = getattr(serializer.Meta, "private_permission", "")
        return not permission or self.caller.may(permission)

    def call_action(self, action: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call an action; the faults that it raises become the 400 or 409 with wire names."""
        try:
            return action(*args, **kwargs)
        except errors.ValidationError as error:
            refusal = errors.validation_refusal(error, self.serializer.wire_name)
            raise errors.invalid(self.with_others(refusal.fields)) if refusal.status == 400 else refusal from error

    def add_record(self, serializer: type[WireSerializer], action: Callable[..., Any]) -> HttpResponse:
        """Add the record that the body describes through the room's action, and answer."""
        with beginning():
            values = self.body(serializer)
            record = self.call_action(action, self.site_id, **self._action_arguments(values))
        return self.write_response(record.pk, record.revision)

    def update_record(
        self, serializer: type[WireSerializer], action: Callable[..., Any], record_id: uuid.UUID, **options: Any
    ) -> HttpResponse:
        """Change a record as the body describes through the room's action, and answer; `options` are the action's."""
        with beginning():
            values = self.body(serializer, partial(locking_with_content, serializer.Meta.model, record_id))
            options["precondition"] = self.precondition
            record = self.call_action(action, self.site_id, record_id, **self._action_arguments(values), **options)
        return self.write_response(record.pk, record.revision)

    def _action_arguments(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments that every action takes; a reason among the values is one of them."""
        reason = values.pop("reason_for_change", "")
        return {"values": values, "author": self.author, "reason": reason}

    def write_response(self, record_id: uuid.UUID, revision: int | None = None, *, note: str = "") -> HttpResponse:
        """Return the success answer of an add or update (DECISIONS 1.3), or of its check; Message includes `note`."""
        if self.validates_only:
            return self.json({"Error": "", "Message": f"Valid.{note}", "Id": ""})
        self.http_request.larder_record = str(record_id)  # type: ignore[attr-defined]
        response = self.json({"Error": "", "Message": f"Success.{note}", "Id": str(record_id)})
        if revision is not None:
            put(response, {"ETag": conditional.etag(revision, variant=self.variant)})
        return response

    def json(self, value: object) -> HttpResponse:
        """Return a value as JSON."""
        return HttpResponse(orjson.dumps(value), content_type="application/json")

    def records(self, model: type[models.Model]) -> models.QuerySet[Any]:
        """Return the records of the endpoint, for all sites; a viewset may filter them."""
        return model._default_manager.all()

    def record(
        self,
        serializer: type[WireSerializer],
        key: uuid.UUID | KeyQuery,
        *,
        show: Callable[[Shape], Any] | None = None,
    ) -> HttpResponse:
        """Return one record of the site as response, with ETag; 304 if the caller has it already.

        If the endpoint adds something to the object, `show` makes the response; otherwise the object is the body.
        """
        plan = self.plan_of(serializer)
        row = self.fetch_one(plan, lambda: self.records(serializer.Meta.model), key)
        if row is None:
            raise errors.not_found()
        with_private = self.sees_private(serializer)
        variant = self.variant + (conditional.fingerprint(plan.targets(row)) if plan.depends_on_targets else "")
        tag = conditional.etag(row[len(plan.names)], with_private=with_private, variant=variant)
        if conditional.is_current(self.http_request, tag):
            response = HttpResponse(status=304)
        else:
            response = (show or self.json)(self.narrow(plan.show(row, with_private=with_private)))
        put(response, {"ETag": tag})
        return response

    def plan_of(self, serializer: type[WireSerializer]) -> ReadPlan:
        """Return the serializer's plan, without what does not exist for the caller."""
        return serializer.plan().as_seen_by(self.caller.user_id, self.caller.may)

    def narrow(self, shape: Shape) -> Shape:
        """Return the object as the caller may see it; an endpoint whose callers see different parts overrides this."""
        return shape

    def fetch_one(
        self, plan: ReadPlan, records: Callable[[], models.QuerySet[Any, Any]], key: uuid.UUID | KeyQuery
    ) -> Sequence[Any] | None:
        """Return the tuple of one record of the site, or None; its statement proves the caller too."""
        row = plan.fetch_one(records, self.site_id, key, self.proof)
        self.proven = self.proven or row is not None
        return row

    def listing(
        self, serializer: type[WireSerializer], rules: lists.ListRules, *, condition: models.Q | None = None
    ) -> HttpResponse:
        """Return one page of the site's records as a bare array, with the paging headers (DECISIONS 3).

        `condition` restricts the list to the records that belong to the one in the path.
        """
        plan = self.plan_of(serializer)

        def rows(plan: ReadPlan, site_id: uuid.UUID) -> models.QuerySet[Any]:
            records = self.records(serializer.Meta.model).filter(site_id=site_id)
            return plan.visible_rows(records if condition is None else records.filter(condition))

        return self.page_of(
            rows,
            plan,
            rules,
            is_same_for_all=condition is None,
            is_narrowed=condition is not None or plan.hides_rows,
            hidden_names=frozenset() if self.sees_private(serializer) else serializer.option("private"),
            is_in_history=True,
        )

    def page_of(self, rows: lists.Source, plan: ReadPlan, rules: lists.ListRules, **options: Any) -> HttpResponse:
        """Return the requested page of rows of the caller's site; its statements also prove the caller."""
        # A filter compares what the caller sees, as the sort order does.
        instead = plan.instead
        parameters = self.operation.parameters if self.operation else ()
        if instead:
            parameters = [
                replace(parameter, lookup=instead[parameter.lookups[0]])
                if parameter.lookups[0] in instead
                else parameter
                for parameter in parameters
            ]
        options["narrow"] = None if type(self).narrow is OperationViewSet.narrow else self.narrow
        page = lists.page(rows, plan, rules, self.query, parameters, site_id=self.site_id, proof=self.proof, **options)
        self.proven = True
        response = HttpResponse(page.content, content_type="application/json")
        put(response, page.headers(self.http_request))
        return response
