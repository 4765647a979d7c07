"""The back-office pages of sites and folders."""

from records.sites.admin import folders, sites

__all__ = ["folders", "sites"]
