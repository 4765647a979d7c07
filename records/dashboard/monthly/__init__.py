"""The monthly report: a site's management figures by month, as a page and as a PDF."""
