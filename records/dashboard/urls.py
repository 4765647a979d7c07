"""The profile page and those below it."""

from django.urls import path
from django.views.decorators.cache import never_cache

from records.dashboard.address import confirm
from records.dashboard.keycalls import calls_of_key
from records.dashboard.profile import profile

urlpatterns = [
    path("", profile, name="profile"),
    path("address/<str:token>/", confirm, name="confirm_address"),
    path("calls/<uuid:key_id>/", never_cache(calls_of_key), name="key-calls"),
]
