"""Each artefact of a release, installed and used as people would."""
