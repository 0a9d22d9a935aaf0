"""Writes what is constant in charts/ from manifests/, and the schemas of their values from structs.

    python -m hack.charts charts

Only what varies with a value is written by hand: the Deployments, the ConfigMaps with Configurations, values.yaml and
NOTES.txt. A test finds a file that is not current, another one each difference between the charts and kustomize.
"""
