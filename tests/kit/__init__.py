"""What tests of several rooms use: makers of objects, a clock that tests set, servers that follow a script.

`hack.controlplane.objects` (also for the demo and the bench) and `manifests` make JSON as an API server takes it. Typed
makers build on them. A helper that only one room needs lies beside its tests, in a module that is no test module.
"""
