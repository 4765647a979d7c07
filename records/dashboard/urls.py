"""The pages of the dashboard beside the back-office: the profile."""

from django.urls import path

from records.dashboard.address import confirm
from records.dashboard.keycalls import calls_of_key
from records.dashboard.profile import profile

urlpatterns = [
    path("profile/", profile, name="profile"),
    path("profile/address/<str:token>/", confirm, name="confirm_address"),
    path("profile/calls/<uuid:key_id>/", calls_of_key, name="key-calls"),
]
