"""The profile page and those below it, for people who are signed in."""

from django.contrib import admin
from django.urls import path

from records.dashboard.address import confirm
from records.dashboard.key_calls import calls_of_key
from records.dashboard.profile import profile

_signed_in = admin.site.admin_view

urlpatterns = [
    path("", _signed_in(profile, cacheable=True), name="profile"),
    path("address/<str:token>/", _signed_in(confirm, cacheable=True), name="confirm_address"),
    path("calls/<uuid:key_id>/", _signed_in(calls_of_key), name="key-calls"),
]
