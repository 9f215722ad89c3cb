"""A real Kubernetes control plane for the tests, as plain processes of one user: no containers, no root, no cloud.

``build`` makes the programs, ``credentials`` the keys and kubeconfigs, ``processes`` starts and stops one program,
``control_plane`` puts them together.
"""
