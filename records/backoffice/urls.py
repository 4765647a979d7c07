"""The addresses of the back-office. They are loaded with the pages of all rooms when a path leads here."""

from django.contrib import admin
from django.urls import path

urlpatterns = [
    path("login/", admin.site.login, name="account_login"),
    path("", admin.site.urls),
]
