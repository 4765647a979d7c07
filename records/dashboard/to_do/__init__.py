"""The sections of the start page that list what the signed-in person has to do.

Each module has the sections of one kind of record; `pages.sections_for` puts them in the order of the page.
"""
