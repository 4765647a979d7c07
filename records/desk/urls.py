"""The pages of the desk beside the back-office: the profile, and passwords by mail."""

from django.urls import include, path

from records.desk.profile import profile

urlpatterns = [
    path("profile/", profile, name="profile"),
    path("accounts/", include("records.backoffice.passwords")),
]
