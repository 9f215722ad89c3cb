"""A workload on a cluster as it is seen from outside, and how a rollout of it stands."""
