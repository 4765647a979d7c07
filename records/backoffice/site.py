"""The back-office's admin site."""

from django.contrib.admin import AdminSite


class BackofficeSite(AdminSite):
    """The pages that quality staff work in."""

    site_title = "Larder"
    site_header = "Larder"
    index_title = "Start"
