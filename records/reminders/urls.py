"""The address at which calendar programs fetch what a person has to do."""

from django.urls import path

from records.reminders.calendars import calendar

urlpatterns = [path("<str:secret>.ics", calendar, name="calendar")]
