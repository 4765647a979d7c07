"""The demo: two sites of a food company with everything that a quality manager would recognise (DECISIONS 8.3).

`filling.py` says in which order the parts are filled; each part is a module with `fill(place)`, which adds one room's
records at one site through the room's actions. Its invented names and texts are in `deploy/demo/`.
"""
