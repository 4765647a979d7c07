"""Sites, folders, numbers per site, and what all records of a site have in common."""
