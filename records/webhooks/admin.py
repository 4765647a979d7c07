"""The pages of webhooks: the address, the secret, and each delivery with the receiver's answer."""

import uuid
from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Model, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from records.backoffice.choice_filters import ArchivedFilter, ChoiceFilter, FilterOptions
from records.backoffice.current import author_of, show_times_of, site_at
from records.backoffice.datetimes import NOTHING, format_datetime, wall_clock
from records.backoffice.extension_points import RecordLink
from records.backoffice.fields import as_number
from records.backoffice.forms import ReasonIfAny, WithoutReason
from records.backoffice.logs import LogAdmin
from records.backoffice.once import process_once
from records.backoffice.permissions import Pages
from records.backoffice.plain_records import CHANGE_TO_ARCHIVE, PlainAdmin
from records.backoffice.shown_once import prevent_storing, redirect_with_secret, secret_of
from records.backoffice.transitions import RecordStep, on_row
from records.changes import feed
from records.webhooks import actions
from records.webhooks.deliverer import behind
from records.webhooks.messages import entities
from records.webhooks.models import Delivery, Kind, Outcome, State, Subscription
from records.webhooks.tasks import send_one


def _test(
    model_admin: object, request: HttpRequest, record: Subscription, reason: str, data: dict[str, object]
) -> None:
    with transaction.atomic():
        send_one.enqueue(actions.request_test(record, author=author_of(request)).pk)


STEPS = (
    RecordStep(
        "test",
        _("Send a test"),
        "change",
        _test,
        applies=lambda webhook: not webhook.is_archived,
        form=WithoutReason,
        explanation=_("Sends one signed message without a change, also while the webhook is paused."),
        done=_("%(record)s gets a test message within seconds. The result appears under its deliveries."),
    ),
    RecordStep(
        "pause",
        _("Pause"),
        "change",
        on_row(actions.pause),
        applies=lambda webhook: webhook.state == State.ACTIVE and not webhook.is_archived,
        form=ReasonIfAny,
        explanation=_("Nothing is delivered until the webhook is resumed. No change is lost."),
        done=_("%(record)s is paused."),
    ),
    RecordStep(
        "resume",
        _("Resume"),
        "change",
        on_row(actions.resume),
        applies=lambda webhook: webhook.state == State.PAUSED and not webhook.is_archived,
        form=ReasonIfAny,
        explanation=_("Deliveries continue where they stopped, in order, with all that happened meanwhile."),
        done=_("%(record)s is active."),
        is_next=True,
    ),
)


class StateFilter(ChoiceFilter):
    """Filters the list to active or paused webhooks."""

    title = _("state")
    parameter_name = "state"
    options: ClassVar[FilterOptions] = {value: (label, Q(state=value)) for value, label in State.choices}


class KindsOfRecord(forms.CheckboxSelectMultiple):
    """Checkboxes in columns, as one group that has a name."""

    template_name = "webhooks/kinds.html"


@admin.register(Subscription)
class SubscriptionAdmin(PlainAdmin):
    """Webhooks of a site."""

    add_action = staticmethod(actions.add_subscription)
    update_action = staticmethod(actions.update_subscription)
    list_display = ("name", "address", "kinds", "state_shown")
    list_filter = (StateFilter, ArchivedFilter)
    search_fields: ClassVar[Any] = ("name", "address")
    record_actions = (*STEPS, *CHANGE_TO_ARCHIVE)
    own_pages: ClassVar[Pages] = (("<str:object_id>/secret/", "secret_view", "secret"),)
    readonly_fields = ("state_shown", "progress", "trouble")

    def own_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Return the fields that people fill in and, for a stored webhook, the state of its deliveries."""
        editable = ((None, {"fields": ("name", "address", "entities")}),)
        return editable if obj is None else (*editable, (gettext("Deliveries"), {"fields": self.readonly_fields}))

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: object) -> Any:
        """Return checkboxes for the kinds of record."""
        if db_field.name != "entities":
            return super().formfield_for_dbfield(db_field, request, **kwargs)
        return forms.MultipleChoiceField(
            choices=kinds(),
            required=False,
            label=capfirst(str(db_field.verbose_name)),
            help_text=db_field.help_text,
            widget=KindsOfRecord,
        )

    @admin.display(description=_("kinds of record"))
    def kinds(self, webhook: Subscription) -> str:
        """Return the kinds of record in words."""
        names = dict(kinds())
        return ", ".join(names.get(name, name) for name in webhook.entities) or gettext("All")

    @admin.display(description=_("state"))
    def state_shown(self, webhook: Subscription) -> str:
        """Return whether changes are delivered and, if they are not, why."""
        if webhook.is_archived:
            return gettext("Archived: nothing is delivered")
        state = str(State(webhook.state).label)
        return f"{state}: {webhook.pause_reason}" if webhook.pause_reason else state

    @admin.display(description=_("progress"))
    def progress(self, webhook: Subscription) -> str:
        """Return up to which change everything was delivered; two small queries."""
        if not behind().filter(pk=webhook.pk).exists() and webhook.state == State.ACTIVE:
            return gettext("All changes are delivered.")
        last = feed.last_number(webhook.site_id)
        return gettext("Delivered up to change %(position)s; the newest change of the site is %(last)s.") % {
            "position": webhook.position,
            "last": last,
        }

    @admin.display(description=_("failures"))
    def trouble(self, webhook: Subscription) -> str:
        """Return since when deliveries fail and when the next attempt is made, or that the newest message failed."""
        if webhook.failing_since is None:
            newest = Delivery.objects.filter(subscription=webhook).first()
            if newest is None or newest.outcome != Outcome.FAILED:
                return NOTHING
            return gettext("The newest message (%(kind)s) failed at %(at)s: %(fault)s") % {
                "kind": Kind(newest.kind).label,
                "at": format_datetime(newest.at),
                "fault": newest.fault,
            }
        attempts = ngettext("%(count)s attempt", "%(count)s attempts", webhook.failures) % {"count": webhook.failures}
        state = gettext("Failing since %(failing_since)s, %(attempts)s") % {
            "failing_since": format_datetime(webhook.failing_since),
            "attempts": attempts,
        }
        return (
            gettext("%(state)s; next attempt at %(next_attempt)s")
            % {"state": state, "next_attempt": format_datetime(webhook.next_attempt)}
            if webhook.state == State.ACTIVE
            else state
        )

    def archive(self, request: HttpRequest, record: Subscription, *, archived: bool, reason: str) -> Subscription:
        """Archive or restore a webhook."""
        return actions.archive_subscription(record, archived=archived, author=author_of(request), reason=reason)

    def response_add(self, request: HttpRequest, obj: Model, post_url_continue: object = None) -> HttpResponse:
        """Redirect to the page that shows the secret once."""
        self.message_user(
            request, gettext("%(obj)s was added. Its receiver needs the secret.") % {"obj": obj}, messages.SUCCESS
        )
        return redirect(self.url_of("secret", quote(obj.pk)))

    def own_links(self, request: HttpRequest, record: Subscription) -> Sequence[RecordLink]:
        """Return the buttons that open the deliveries and, for users who may change the webhook, its secret."""
        links = [RecordLink("deliveries", gettext("Deliveries"), deliveries_of(record))]
        if self.has_change_permission(request, record):
            links.append(RecordLink("secret", gettext("Secret"), self.url_of("secret", quote(record.pk))))
        return links

    def secret_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show when the secret was made; a POST shows that of a new webhook (`show`) or makes a new one (`rotate`)."""
        webhook = self.record_or_404(request, object_id)
        if not self.has_change_permission(request, webhook):
            raise PermissionDenied
        show_times_of(site_at(request, webhook.site_id))
        if request.method == "POST":
            return self._make_secret(request, webhook)
        secret = secret_of(request)
        return prevent_storing(
            request,
            self.page_response(
                request,
                "webhooks/secret.html",
                gettext("Secret of %(webhook)s") % {"webhook": webhook},
                original=webhook,
                secret=secret["secret"] if secret else "",
                made=format_datetime(webhook.secret_made),
                former_until=format_datetime(webhook.former_until) if webhook.former_secret else "",
                hours=actions.OVERLAP.total_seconds() // 3600,
                back=self.page_of(webhook.pk),
            ),
        )

    def _make_secret(self, request: HttpRequest, webhook: Subscription) -> HttpResponse:
        acts = {"show": actions.show_secret, "rotate": actions.rotate_secret}
        act = acts.get(request.POST.get("do", ""))
        if act is None:
            raise PermissionDenied
        try:
            with process_once(request):
                secret = act(webhook, author=author_of(request))
            return redirect_with_secret(request, {"secret": secret})
        except ValidationError as fault:
            messages.error(request, "; ".join(fault.messages))
            return redirect(request.get_full_path())


def kinds() -> list[tuple[str, str]]:
    """Return the kinds of record to choose from: the name in the feed and the label of each."""
    models_of = feed.entities()
    pairs = [(name, capfirst(str(models_of[name]._meta.verbose_name))) for name in entities()]
    return sorted(pairs, key=lambda pair: pair[1])


def deliveries_of(webhook: Subscription) -> str:
    """Return the address of the list of a webhook's deliveries."""
    return f"{reverse('admin:webhooks_delivery_changelist')}?subscription__id__exact={webhook.pk}"


class OutcomeFilter(ChoiceFilter):
    """Filters deliveries by how they ended."""

    title = _("outcome")
    parameter_name = "outcome"
    options: ClassVar[FilterOptions] = {value: (label, Q(outcome=value)) for value, label in Outcome.choices}


@admin.register(Delivery)
class DeliveryAdmin(LogAdmin):
    """Each attempt to deliver a message, with what the receiver answered."""

    site_field = "subscription__site"
    counted = _("deliveries")
    list_display = ("when", "subscription", "what", "attempt", "ended", "status")
    list_select_related = ("subscription",)
    list_filter = (OutcomeFilter,)
    ordering: ClassVar[Any] = ("-id",)

    def site_id_of(self, record: Any) -> uuid.UUID | None:
        """Return the site of the delivery's webhook."""
        site_id: uuid.UUID = record.subscription.site_id
        return site_id

    @admin.display(description=_("when"))
    def when(self, delivery: Delivery) -> str:
        """Return the time of the attempt to the second, in the site's time zone."""
        return f"{wall_clock(delivery.at)[0]:%Y-%m-%d %H:%M:%S}"

    @admin.display(description=_("what"))
    def what(self, delivery: Delivery) -> str:
        """Return what was sent."""
        if delivery.number is None:
            return gettext("Test")
        text = gettext("Change %(number)s again")
        return (text if delivery.kind == Kind.AGAIN else gettext("Change %(number)s")) % {"number": delivery.number}

    @admin.display(description=_("outcome"))
    def ended(self, delivery: Delivery) -> str:
        """Return how the attempt ended and, if it failed, why."""
        return delivery.fault or str(Outcome(delivery.outcome).label)

    def list_context(self, request: HttpRequest) -> dict[str, object]:
        """Return also the text of an empty list."""
        text = gettext("Nothing was delivered in the last 30 days. Add a webhook, or send a test on its page.")
        return {**super().list_context(request), "empty_list": text}

    def entry_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show one attempt with the receiver's answer; a POST sends its message again."""
        key = as_number(object_id, 18)
        rows = self.get_queryset(request).select_related("subscription__site")
        delivery = rows.filter(pk=key).first() if key else None
        if delivery is None:
            raise Http404(gettext("There is no such delivery."))
        webhooks = self.admin_site.get_model_admin(Subscription)
        may_send = webhooks.has_change_permission(request, delivery.subscription) and delivery.kind != Kind.TEST
        if request.method == "POST":
            if not may_send:
                raise PermissionDenied
            return self._send_again(request, delivery)
        show_times_of(site_at(request, delivery.subscription.site_id))
        return self.page_response(
            request,
            "webhooks/delivery.html",
            gettext("%(what)s to %(subscription)s")
            % {"what": self.what(delivery), "subscription": delivery.subscription},
            delivery=delivery,
            what=self.what(delivery),
            when=self.when(delivery),
            ended=Outcome(delivery.outcome).label,
            may_send=may_send,
            webhook_url=reverse("admin:webhooks_subscription_read", args=(quote(delivery.subscription_id),)),
            list_url=deliveries_of(delivery.subscription),
        )

    def _send_again(self, request: HttpRequest, delivery: Delivery) -> HttpResponse:
        try:
            with process_once(request):
                send_one.enqueue(actions.request_resend(delivery, author=author_of(request)).pk)
        except ValidationError as fault:
            messages.error(request, "; ".join(fault.messages))
        else:
            messages.success(
                request,
                gettext("%(what)s is sent again within seconds, under the same id.") % {"what": self.what(delivery)},
            )
        return redirect(deliveries_of(delivery.subscription))
