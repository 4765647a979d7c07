"""Webhooks: the feed of a site's changes, sent to other systems by the worker, signed as Standard Webhooks does."""
