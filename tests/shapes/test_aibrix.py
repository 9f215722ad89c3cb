from samples import edited, engine, engines, given, messages, sample, with_devices

STORM = """\
apiVersion: orchestration.aibrix.ai/v1alpha1
kind: StormService
metadata: {name: s}
spec:
  replicas: 2
  template:
    spec:
      roles:
        - name: prefill
          replicas: 3
          template:
            spec:
              containers:
                - name: e
                  image: vllm/vllm-openai:v0.11.0
                  args: [org/m]
                  resources: {limits: {nvidia.com/gpu: 1}}
        - {name: router, template: {spec: {containers: [{name: r, image: 'aibrix/router:1'}]}}}
"""
TEMPLATES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: t}
data:
  templates.yaml: |
    - name: a
      spec:
        engine: {type: vllm, image: 'vllm/vllm-openai:v0.6.3', serve_args: [--port=8000]}
        model_source: {uri: s3://bucket/m}
        accelerator: {count: 4, sku_hint: aws/p5.48xlarge}
        parallelism: {tp: 4}
        engine_args:
          max_model_len: 32768
        quantization: {weight: fp8, kv_cache: fp8_e4m3}
"""


def test_every_role_with_an_engine_is_a_unit():
    found = engine(STORM)
    assert (found.unit, found.role, found.replicas, found.gpus_total) == ("StormService/s#prefill/e", "prefill", 6, 6)


def test_batch_templates_in_a_config_map_are_engines():
    found = engine(TEMPLATES)
    assert (found.unit, found.gpus_per_pod, found.instance_type) == ("ConfigMap/t#[0]", 4, "p5.48xlarge")
    assert given(found) == {
        "model": "s3://bucket/m",
        "port": 8000,
        "tensor_parallel_size": 4,
        "max_model_len": 32768,
        "quantization": "fp8",
        "kv_cache_dtype": "fp8_e4m3",
    }


def test_batch_templates_are_changed_inside_the_config_map():
    assert "          max_model_len: 4096\n" in edited(TEMPLATES, "max_model_len", 4096)
    assert "          max_model_len: 32768\n          enforce_eager: true\n" in edited(
        TEMPLATES, "enforce_eager", value=True
    )
    assert "{count: 8, sku" in with_devices(TEMPLATES, 8)


def test_claims_on_one_pool_know_of_each_other():
    first, second = engines(sample("25-aibrix-modelclaim.yaml"))
    assert [note.parameters["others"] for each in (first, second) for note in each.notes] == [("tiny-b",), ("tiny-a",)]
    alone = sample("25-aibrix-modelclaim.yaml").partition("---")[0]
    assert messages(engine(alone)) == []


def test_a_claim_takes_flags_as_keys():
    text = sample("25-aibrix-modelclaim.yaml").partition("---")[0]
    assert given(engine(edited(text, "gpu_memory_utilization", 0.4)))["gpu_memory_utilization"] == 0.4
    bare = text.partition("  engineConfig:")[0]
    assert 'engineConfig: {args: {--max-model-len: "4096"}}' in edited(bare, "max_model_len", 4096)
