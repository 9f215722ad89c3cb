"""One module per way in which engines are written down; a new one is found by being here.

A shape has two functions, ``recognises(found)`` and ``read(found, source)`` (oomedic.workloads.reading.Shape). The
first that recognises an object reads it; ``pod_templates``, which knows no kind at all, is asked last.
"""

KNOWN = (
    *("controllers", "pod", "leader_worker_set"),
    *("inference_service", "serving_runtime", "llm_inference_service"),
    *("ray_cluster", "ray_service"),
    *("production_stack", "vllm_runtime", "llm_d_modelservice", "ai_on_eks", "vllm_chart"),
    *("aibrix", "aibrix_model_claim", "kubeai_model", "dynamo_graph", "kaito"),
    *("nim_service", "unsupported", "pod_templates"),
)
"""The modules, in the order in which they are asked: the last one takes what nobody else knows."""
