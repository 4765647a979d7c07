"""The addresses below /.well-known/."""

from django.urls import path

from records.operations import oauth

urlpatterns = [path("oauth-authorization-server", oauth.metadata)]
