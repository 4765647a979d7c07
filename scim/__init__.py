"""Provisioning over SCIM 2.0: users and groups for directory services, on /scim and /prodscim."""
