"""One module per way in which engines are written down; a new one is found by being here.

A shape has two functions, ``recognises(found)`` and ``read(found, source)`` (oomedic.kube_object.Shape). The first that
recognises an object reads it; ``unsupported`` is asked last.
"""

KNOWN = ("controllers", "pod", "unsupported")
"""The modules, in the order in which they are asked: the last one takes what nobody else knows."""
