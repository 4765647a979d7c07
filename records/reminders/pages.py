"""The page on which people see their next reminder and choose how often they want one."""

from collections.abc import Sequence

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.backoffice.about import url_of_page
from records.backoffice.current import author_of, user_of
from records.backoffice.date_filters import today_at
from records.backoffice.extension_points import RecordLink
from records.backoffice.forms import PlainForm
from records.backoffice.responses import page_response
from records.reminders.actions import choose_frequency
from records.reminders.contents import frequencies, parts_for, zone_for
from records.reminders.models import Frequency, Reminder
from records.reminders.tasks import HOUR


class FrequencyForm(PlainForm):
    """The form for the choice how often the person wants to be reminded."""

    frequency = forms.ChoiceField(label=_("How often"), choices=Frequency.choices, widget=forms.RadioSelect)


def menu_links(request: HttpRequest) -> Sequence[RecordLink]:
    """Return the menu entry for the page, which everybody may open."""
    return (RecordLink("reminders", gettext("My reminders"), url_of_page("admin:reminders"), "Records"),)


def reminders(request: HttpRequest) -> HttpResponse:
    """Show the content of today's reminder, and store how often the person wants one."""
    user = user_of(request)
    frequency = frequencies([user]).get(user.pk, Frequency.DAILY)
    form = FrequencyForm(request.POST or None, initial={"frequency": frequency})
    if request.method == "POST" and form.is_valid():
        choose_frequency(user, Frequency(form.cleaned_data["frequency"]), author=author_of(request))
        messages.success(request, gettext("Your choice was saved."))
        return redirect("admin:reminders")
    zone = zone_for(user)
    today = today_at(zone)
    return page_response(
        request,
        "reminders/reminders.html",
        gettext("My reminders"),
        form=form,
        parts=parts_for(user, today, frequency),
        daily=frequency == Frequency.DAILY,
        only_overdue=frequency == Frequency.OFF,
        address=user.email,
        hour=HOUR,
        zone=zone.key,
        sent=Reminder.objects.filter(user=user, day=today, sent__isnull=False, last_error="").first(),
    )


urlpatterns = [path("reminders/", reminders, name="reminders")]
