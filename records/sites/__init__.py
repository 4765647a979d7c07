"""Where records live: sites, folders, numbers per site."""
