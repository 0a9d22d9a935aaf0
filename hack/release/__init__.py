"""`make release`: fill a folder with what people install, and use each piece once (docs/releasing.md).

`packages`, `manifests`, `charts`, `plugin`, `sbom`, `image` and `statement` make one artefact each. `trials` uses them.
Everything is made from the files of a commit, in a folder of its own, and the same commit gives the same bytes.
"""
