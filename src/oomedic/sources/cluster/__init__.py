"""The cluster, through kr8s (the extra ``oomedic[cluster]``): imported only by commands that are given a target on it.

``connection`` asks the API server, ``kinds`` finds the API of a kind, ``collection`` puts together what is known of one
workload, ``cluster`` is the door that the commands use.
"""
