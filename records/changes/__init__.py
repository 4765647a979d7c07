"""The feed: every change of a site's records in the order of its chain, for systems that follow them."""
