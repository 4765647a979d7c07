"""The tasks of the worker: one reminder for each person and day, from six in the morning (DECISIONS 12.5, 13.23)."""

import datetime
import uuid

from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils.translation import ngettext
from django_tasks import task

from records.accounts.languages import in_language_of
from records.accounts.models import User
from records.history.trail import now
from records.operations import stored_mails
from records.operations.stored_mails import BATCH
from records.reminders.contents import everybody, frequencies, is_day_for, parts_for, people, zone_for
from records.reminders.models import Frequency, Reminder

HOUR = 6
"""The hour of the day, in the time zone of the person's home site, from which reminders are sent."""
RETENTION = datetime.timedelta(days=30)
NOTHING_DUE = "Nothing was due any longer, so it was not sent."


@task()
def remind() -> int:
    """Store today's reminder of everybody who has something due, and queue the sending; returns the number of new ones.

    This can run any number of times and in any number of workers, because the row of a person and day is unique.
    """
    moment = now()
    Reminder.objects.filter(day__lt=moment.date() - RETENTION).delete()
    users = people(everybody(moment.date()))
    choices = frequencies(users)
    reminders = []
    for user in users:
        local = moment.astimezone(zone_for(user))
        if local.hour >= HOUR and is_day_for(choices.get(user.pk, Frequency.DAILY), local.date()):
            reminders.append(Reminder(user=user, day=local.date(), due=moment))
    days = {reminder.day for reminder in reminders}
    existing_keys = set(Reminder.objects.filter(day__in=days).values_list("user_id", "day"))
    new = [reminder for reminder in reminders if (reminder.user_id, reminder.day) not in existing_keys]
    Reminder.objects.bulk_create(new, ignore_conflicts=True)
    if new:
        send_reminders.enqueue()
    return len(new)


def _due() -> QuerySet[Reminder]:
    yesterday = now().date() - datetime.timedelta(days=1)
    return Reminder.objects.filter(sent__isnull=True, due__lte=now(), day__gte=yesterday)


def is_waiting() -> bool:
    """Return whether a reminder is due for which no task is queued; the worker asks every few seconds."""
    return _due().exists() and not stored_mails.is_queued(send_reminders)


@task()
def send_reminders() -> int:
    """Send every due reminder of the last day, and return the number of mails that were sent."""
    keys = list(_due().order_by("day", "id").values_list("pk", flat=True)[:BATCH])
    return sum(_send(key) for key in keys if stored_mails.take(Reminder.objects.filter(pk=key)))


def _send(key: uuid.UUID) -> bool:
    reminder = Reminder.objects.select_related("user__home_site").get(pk=key)
    if not is_still_due(reminder):
        reminder.delete()
        return False
    message = message_of(reminder)
    if message is None:
        stored_mails.close(reminder, NOTHING_DUE)
        return False
    return stored_mails.send(reminder, message.send, send_reminders)


def is_still_due(reminder: Reminder) -> bool:
    """Return whether the person still wants this reminder, which may have waited for a mail server or a worker.

    The person's present choice counts. A daily reminder is not sent after its day: the next day's reminder contains
    everything, and nobody gets two on one day. A weekly reminder is sent late.
    """
    frequency = frequencies([reminder.user]).get(reminder.user_id, Frequency.DAILY)
    if frequency == Frequency.DAILY:
        return now().astimezone(zone_for(reminder.user)).date() <= reminder.day
    return is_day_for(frequency, reminder.day)


def message_of(reminder: Reminder) -> EmailMessage | None:
    """Return the mail in plain text, or None if nothing is due or the person no longer gets mails."""
    users = people([reminder.user_id])
    if not users:
        return None
    with in_language_of(users[0]):
        return _message_to(users[0], reminder)


def _message_to(user: User, reminder: Reminder) -> EmailMessage | None:
    parts = parts_for(user, reminder.day, frequencies([user]).get(user.pk, Frequency.DAILY))
    if not parts:
        return None
    context = {"name": user.printed_name, "parts": parts, "base_url": settings.BASE_URL}
    count = sum(len(part.lines) + part.further_count for part in parts)
    subject = ngettext("Larder: %(count)s thing to do", "Larder: %(count)s things to do", count) % {"count": count}
    return stored_mails.mail_of(reminder, user.email, subject, render_to_string("mail/reminder.txt", context))
