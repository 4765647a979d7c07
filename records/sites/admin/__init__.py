"""The back-office pages of sites and of the folders that records are filed in."""

from records.sites.admin import folders, sites

__all__ = ["folders", "sites"]
