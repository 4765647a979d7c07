"""The pages of the desk beside the back-office: the profile, and passwords by mail."""

from django.urls import include, path

from records.desk.keycalls import calls_of_key
from records.desk.profile import profile

urlpatterns = [
    path("profile/", profile, name="profile"),
    path("profile/calls/<uuid:key_id>/", calls_of_key, name="key-calls"),
    path("accounts/", include("records.backoffice.passwords")),
]
