from samples import edited, engine, given

SPACE = """\
apiVersion: kaito.sh/v1beta1
kind: Workspace
metadata: {name: w}
resource: {instanceType: g6e.12xlarge, count: 2}
inference: {preset: {name: phi-4-mini-instruct}, config: params}
"""
CONFIG = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: params}\ndata:\n  inference_config.yaml: |\n"


def test_without_a_config_the_controller_s_own_arguments_count():
    found = engine(SPACE)
    assert given(found) == {"model": "phi-4-mini-instruct", "gpu_memory_utilization": 0.84, "max_model_len": "auto"}
    assert (found.instance_type, found.group_size) == ("g6e.12xlarge", 2)
    assert found.node_selector == {"node.kubernetes.io/instance-type": "g6e.12xlarge"}


def test_a_value_of_the_controller_is_overridden_in_the_config():
    for config in ("    vllm:\n      swap-space: 4\n", "    max_probe_steps: 6\n", "    vllm:\n"):
        changed = edited(SPACE + CONFIG + config, "max_model_len", 8192)
        assert "max-model-len: 8192" in changed
        assert given(engine(changed))["max_model_len"] == 8192


def test_an_inference_set_holds_a_workspace_as_its_template():
    text = (
        "apiVersion: kaito.sh/v1alpha1\nkind: InferenceSet\nmetadata: {name: s}\nspec:\n  replicas: 3\n"
        "  template: {resource: {instanceType: g6.2xlarge}, inference: {preset: {name: phi-4}}}\n"
    )
    found = engine(text)
    assert (found.unit, found.model, found.replicas) == ("InferenceSet/s", "phi-4", 3)


def test_a_pod_template_of_the_user_s_is_read_as_it_is():
    text = SPACE.partition("inference:")[0] + (
        "inference: {template: {spec: {containers: [{name: e, image: 'vllm/vllm-openai:v0.11.0', args: [org/m]}]}}}\n"
    )
    assert given(engine(text)) == {"model": "org/m"}
