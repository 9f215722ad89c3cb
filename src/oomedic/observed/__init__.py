"""What is seen of a pod, a node or a GPU from outside the engine's log, one module per way in which it is written.

``kubectl get -o yaml|json`` (``objects``: pods, nodes, events), ``kubectl describe`` and ``kubectl get events`` as
text, nvidia-smi in its three forms, DCGM's metrics. All of them yield ``facts.Observed``; ``telling`` puts it into the
words of the signatures, so that a cause finds an OOMKilled in a pod's status as it finds it in a pasted text.
"""
