from samples import edited, engine, engines, given, with_devices

GRAPH = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  envs: [{name: MODEL, value: org/m}]
  services:
    Frontend: {componentType: frontend, extraPodSpec: {mainContainer: {args: [--model, no]}}}
    Worker:
      componentType: worker
      multinode: {nodeCount: 2}
      resources: {limits: {gpu: "8"}, requests: {gpu: "8"}}
      extraPodSpec:
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.2.1
          command: [python3, -m, dynamo.vllm]
          args: [--model, $(MODEL), --disaggregation-mode, prefill]
"""
BETA = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  components:
    - {name: Frontend, type: frontend, podTemplate: {spec: {containers: [{name: main}]}}}
    - name: Worker
      type: worker
      podTemplate:
        spec:
          containers:
            - name: main
              command: [python3, -m, dynamo.vllm]
              args: [--model, org/m, --max-model-len, "32000"]
              resources: {limits: {nvidia.com/gpu: "1"}}
"""


def test_a_worker_is_read_with_the_graph_s_variables_and_its_nodes():
    found = engine(GRAPH)
    assert (found.unit, found.model, found.role) == ("DynamoGraphDeployment/g#services.Worker", "org/m", "prefill")
    assert (found.gpu_resource, found.gpus_per_pod, found.group_size) == ("nvidia.com/gpu", 8, 2)
    assert found.shm.size == "8Gi"


def test_devices_are_changed_under_the_operator_s_own_key():
    assert 'resources: {limits: {gpu: "4"}, requests: {gpu: "4"}}' in with_devices(GRAPH, 4)


def test_shared_memory_can_be_switched_off():
    assert not engine(GRAPH.replace("componentType: worker", "sharedMemory: {disabled: true}")).shm.mounted


def test_components_of_the_newer_version_hold_whole_pods():
    found = engine(BETA)
    assert (found.unit, given(found)["max_model_len"]) == ("DynamoGraphDeployment/g#components.Worker", 32000)
    assert '"16000"]' in edited(BETA, "max_model_len", 16000)
    assert found.edit_paths["max_model_len"].pointer == "/spec/components/1/podTemplate/spec/containers/0/args/3"


def test_a_service_that_runs_something_else_is_no_engine():
    assert engines(GRAPH.replace("dynamo.vllm", "dynamo.planner")) == []


def test_a_component_gets_shared_memory_and_devices_from_the_operator():
    text = BETA.replace(
        "      podTemplate:\n        spec:\n          containers:\n            - name: main\n              command",
        "      sharedMemorySize: 64Gi\n"
        "      device: {resources: {nvidia.com/gpu: '4'}, nodeSelector: {gpu: 'on'}}\n"
        "      podTemplate:\n        spec:\n          containers:\n            - name: main\n              command",
    ).replace('              resources: {limits: {nvidia.com/gpu: "1"}}\n', "")
    found = engine(text)
    assert (found.shm.size, found.gpus_per_pod, found.node_selector) == ("64Gi", 4, {"gpu": "on"})
    assert engine(BETA).shm.size == "8Gi"
    assert not engine(text.replace("64Gi", "'0'")).shm.mounted
    assert "nvidia.com/gpu: '2'" in with_devices(text, 2)
