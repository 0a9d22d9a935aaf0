"""Processes of `reprieve` that begin with all imports done: a server that has imported everything forks each of them.

An import of the whole command takes a second of CPU time, and live tests start it hundreds of times. A forked process
has arguments, environment, folder and files of its own, and a pid that takes signals. Who started it learns how it
ended. Some tests start the real command, so that it is proven, too.
"""
