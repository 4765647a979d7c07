"""The demo: two sites of a food company with everything that a quality manager would recognise (DECISIONS 8.3).

`story.py` says in which order the parts are filled; each part is a module with `fill(place)`, which adds one room's
records at one site through the room's actions. Its names and texts, all of them made up, are in `deploy/demo/`.
"""
