"""The same form of days and numbers as on English pages."""

from django.conf.locale.en.formats import *  # noqa: F403
