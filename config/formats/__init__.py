"""How days and numbers are written: in one form for all languages, which inputs and imports read as well."""
