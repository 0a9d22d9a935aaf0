"""`make pictures`: the pictures of README.md and the pages, drawn from what was recorded on real control planes.

`docs/pictures/*.json` is what was recorded, and `docs/pictures/*.svg` what is drawn from it. The same recording gives
the same bytes. With RECORD=1 the recordings are made again first.
"""
