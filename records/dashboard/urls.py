"""The pages of the dashboard beside the back-office: the profile, and what leads a browser to the start page."""

from django.urls import path

from records.dashboard.address import confirm
from records.dashboard.entrance import start, with_slash
from records.dashboard.keycalls import calls_of_key
from records.dashboard.profile import profile

urlpatterns = [
    path("", start, name="start"),
    path("admin", with_slash),
    path("docs", with_slash),
    path("profile", with_slash),
    path("profile/", profile, name="profile"),
    path("profile/address/<str:token>/", confirm, name="confirm_address"),
    path("profile/calls/<uuid:key_id>/", calls_of_key, name="key-calls"),
]
