"""The WSGI application that gunicorn serves."""

import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()
# Read the URL confs now, so that no first caller waits for it.
import_module(settings.ROOT_URLCONF)
# A server writes the recent calls of keys by itself; commands and tests do not.
import_module("records.operations.calls").buffer.write_by_itself()
