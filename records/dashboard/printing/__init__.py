"""Print views: a record as a PDF that can be filed, sent, or shown to an auditor."""
