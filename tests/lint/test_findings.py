"""``oomedic lint``: what is found in manifests before they run, on which cards, and where it is shown."""

import json

import pytest

POOL = """apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  LIMITS
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [TYPES]}
      TAINTS
"""


def pool(*types, taints="", limits=""):
    text = POOL.replace("TYPES", ", ".join(types))
    return text.replace("TAINTS", taints or "taints: []").replace("LIMITS", limits or "limits: {}")


def findings(ran):
    return json.loads(ran.out)["lint"]["findings"]


def found(ran, code):
    return [each for each in findings(ran) if each["code"] == code]


class TestMemoryOnEachCard:
    def test_a_length_that_does_not_fit_is_shown_at_its_argument_with_the_change_that_fits(self, lint, deployment):
        ran = lint("--gpu", "A10G", "-o", "json", d=deployment("--max-model-len=131072"))
        (finding,) = findings(ran)
        assert (ran.status, finding["code"], finding["confidence"]) == (1, "OOM401", "likely")
        # 131072 tokens at 128 KiB are 16 GiB; 3.64 GiB are left beside 14.99 GiB of weights
        assert finding["because"][0]["parameters"]["needed"] == 131072 * 128 * 1024
        place = finding["place"]
        assert (place["path"], place["line"], place["column"]) == ("./d.yaml", 13, 15)
        assert place["end_column"] == 15 + len("--max-model-len=131072")
        (change,) = finding["change"]["changes"]
        assert (change["target"], change["remedy"]) == ("max_model_len", "FIX101")

    def test_the_change_is_a_replacement_of_the_characters_that_differ(self, lint, deployment):
        text = deployment("--max-model-len=131072", "--api-key=secret-of-ours")
        ran = lint("--gpu", "A10G", "-o", "json", d=text)
        (replacement,) = found(ran, "OOM401")[0]["replacements"]
        changed = applied(text, [replacement])
        assert changed == text.replace("=131072", "=29696")
        assert "secret-of-ours" not in ran.out

    def test_a_pod_is_judged_on_every_card_that_the_node_pools_can_give_it(self, lint, deployment):
        pools = pool("g4dn.xlarge", "g5.xlarge", "g6e.xlarge")
        ran = lint("-o", "json", a=deployment("--max-model-len=32768"), pools=pools)
        (finding,) = found(ran, "OOM401")
        assert finding["gpus"] == ["NVIDIA A10G"]
        (weights,) = found(ran, "OOM201")
        assert weights["gpus"] == ["Tesla T4"]
        outcomes = {each["subject"]["gpu"]: each["outcome"] for each in ran.results}
        assert outcomes == {"Tesla T4": "crashes", "NVIDIA A10G": "crashes", "NVIDIA L40S": "starts"}

    def test_several_cards_can_be_named_instead(self, lint, deployment):
        ran = lint("--gpu", "A10G,H100", d=deployment("--max-model-len=131072"))
        assert "On NVIDIA A10G (1 of the 2 GPUs that the pod could get): " in ran.out

    def test_a_card_that_nobody_knows_is_refused_before_anything_is_judged(self, lint, deployment):
        ran = lint("--gpu", "A10G,H1000", d=deployment())
        assert (ran.status, ran.out) == (2, "")
        assert 'No GPU is known as "H1000"' in ran.err

    def test_where_nothing_says_which_card_that_is_said_once_with_what_to_give(self, lint, deployment):
        ran = lint(a=deployment(name="a"), b=deployment(name="b"))
        assert ran.status == 0
        assert ran.out.count("--gpu NAME") == 1
        assert "(Deployment/a#vllm, Deployment/b#vllm)" in ran.out

    def test_an_instance_type_says_which_card(self, lint, deployment):
        selector = "nodeSelector: {node.kubernetes.io/instance-type: g5.xlarge}"
        ran = lint("-o", "json", d=deployment("--max-model-len=131072", pod=selector))
        assert found(ran, "OOM401")[0]["gpus"] == ["NVIDIA A10G"]

    def test_a_slice_of_a_card_is_judged_by_its_name(self, lint, deployment):
        text = deployment("--max-model-len=131072").replace("nvidia.com/gpu", "nvidia.com/mig-1g.10gb")
        ran = lint("-o", "json", d=text)
        assert [each["code"] for each in findings(ran)] == ["OOM201"]

    def test_what_starts_is_told_to_start(self, lint, deployment):
        ran = lint("--gpu", "H100", d=deployment("--max-model-len=8192"))
        assert (ran.status, ran.out) == (0, "0 findings in 1 engine, 1 file read.\n")


class TestRefusals:
    @pytest.mark.parametrize(
        ("args", "code", "line"),
        [
            (["--max-model-len=8192", "--gpu-memory-utilisation=0.9"], "CFG110", 14),
            (["--gpu-memory-utilization=90"], "CFG111", 13),
            (["--max-model-len=8192", "--tensor-parallel-size=2"], "CFG101", 14),
            (["--max-model-len=500000"], "CFG105", 13),
            (["--max-num-seqs=512", "--max-num-batched-tokens=256"], "CFG116", 14),
        ],
    )
    def test_what_the_engine_would_refuse_is_shown_at_its_argument(self, lint, deployment, args, code, line):
        ran = lint("--gpu", "H100", "-o", "json", d=deployment(*args))
        (finding,) = found(ran, code)
        assert finding["place"]["line"] == line
        assert ran.status == 1

    def test_a_type_that_a_card_lacks_is_shown_for_that_card_alone(self, lint, deployment):
        text = deployment("--dtype=bfloat16", "--max-model-len=2048", model="Qwen/Qwen2.5-1.5B-Instruct")
        ran = lint("--gpu", "T4,A10G", "-o", "json", d=text)
        (finding,) = found(ran, "CFG104")
        assert (finding["gpus"], finding["place"]["line"]) == (["Tesla T4"], 13)
        changes = [(each["target"], each["after"]) for each in finding["change"]["changes"]]
        assert changes == [("dtype", "half")]
        assert finding["starts_on"] == ["NVIDIA A10G"]


class TestHostMemory:
    def test_a_limit_below_what_is_pinned_is_likely_to_be_reached(self, lint, deployment):
        ran = lint("-o", "json", d=deployment("--cpu-offload-gb=24", memory="20Gi"))
        (finding,) = found(ran, "HOST101")
        assert finding["confidence"] == "likely"
        # 24 GiB of weights, and 8 GiB for the processes of one GPU
        assert finding["because"][0]["parameters"]["needed"] == (24 + 8) * 2**30
        assert finding["place"]["what"] == "resources/limits/memory"

    def test_a_limit_below_what_small_engines_take_is_likely_and_one_above_is_none(self, lint, deployment):
        confidence = {
            memory: [each["confidence"] for each in found(lint("-o", "json", d=deployment(memory=memory)), "HOST101")]
            for memory in ("3Gi", "6Gi", "9Gi")
        }
        assert confidence == {"3Gi": ["likely"], "6Gi": ["possible"], "9Gi": []}

    def test_swap_space_counts_where_the_release_still_has_it(self, lint, deployment):
        old = lint("-o", "json", d=deployment("--swap-space=16", image="v0.6.3", memory="12Gi"))
        assert found(old, "HOST101")[0]["confidence"] == "likely"
        new = lint("-o", "json", d=deployment("--swap-space=16", image="v0.10.2", memory="12Gi"))
        assert found(new, "HOST101") == []


class TestSharedMemory:
    TWO = ("--tensor-parallel-size=2", "--max-model-len=8192")

    def mounted(self, deployment, size):
        volume = f"volumes: [{{name: shm, emptyDir: {{medium: Memory{size}}}}}]"
        return deployment(*self.TWO, gpus=2, container="volumeMounts: [{name: shm, mountPath: /dev/shm}]", pod=volume)

    def test_ranks_without_a_volume_are_shown_at_what_asks_for_them(self, lint, deployment):
        ran = lint("-o", "json", d=deployment(*self.TWO, gpus=2))
        (finding,) = found(ran, "HOST102")
        assert (finding["confidence"], finding["place"]["what"]) == ("likely", "tensor_parallel_size")
        assert "sizeLimit 2Gi" in finding["says"]

    def test_a_small_volume_is_shown_at_its_size(self, lint, deployment):
        (finding,) = found(lint("-o", "json", d=self.mounted(deployment, ", sizeLimit: 512Mi")), "HOST102")
        assert (finding["confidence"], finding["place"]["what"]) == ("possible", "/dev/shm")

    @pytest.mark.parametrize("size", [", sizeLimit: 8Gi", ""])
    def test_a_large_volume_or_one_without_a_limit_is_well(self, lint, deployment, size):
        assert found(lint("-o", "json", d=self.mounted(deployment, size)), "HOST102") == []

    def test_one_rank_needs_none(self, lint, deployment):
        assert found(lint("-o", "json", d=deployment()), "HOST102") == []


class TestProbes:
    LIVENESS = "livenessProbe: {httpGet: {path: /health, port: 8000}, periodSeconds: 10, failureThreshold: THREE}"

    def probed(self, deployment, failures, more=""):
        return deployment("--max-model-len=8192", container=self.LIVENESS.replace("THREE", str(failures)) + more)

    def test_a_liveness_probe_that_gives_up_before_the_weights_are_there_is_likely(self, lint, deployment):
        (finding,) = found(lint("-o", "json", d=self.probed(deployment, 3)), "POD101")
        # 14.99 GiB at 0.73 GiB/s are 21 seconds, with 30 before and 30 for compilation; at 0.16 GiB/s 94
        assert [finding["because"][0]["parameters"][name] for name in ("budget", "usual", "slow")] == [30, 81, 154]
        assert (finding["confidence"], finding["place"]["what"]) == ("likely", "livenessProbe")

    def test_one_that_a_slow_disk_outlasts_is_possible_and_one_that_allows_more_is_well(self, lint, deployment):
        (finding,) = found(lint("-o", "json", d=self.probed(deployment, 12)), "POD101")
        assert finding["confidence"] == "possible"
        assert found(lint("-o", "json", d=self.probed(deployment, 60)), "POD101") == []

    def test_a_startup_probe_decides_where_there_is_one(self, lint, deployment):
        startup = "\nstartupProbe: {httpGet: {path: /health, port: 8000}, periodSeconds: 10, failureThreshold: 120}"
        assert found(lint("-o", "json", d=self.probed(deployment, 3, startup)), "POD101") == []


class TestRollout:
    def rolling(self, deployment, strategy="{}", replicas=1, **more):
        text = deployment("--max-model-len=8192", spec=f"replicas: {replicas}", **more)
        return text.replace("strategy: {type: Recreate}", f"strategy: {strategy}")

    def test_a_new_pod_before_the_old_one_ends_is_possible_trouble(self, lint, deployment):
        (finding,) = found(lint("-o", "json", d=self.rolling(deployment)), "POD105")
        assert (finding["confidence"], finding["place"]["what"]) == ("possible", "/spec/strategy")
        assert finding["change"]["changes"][0]["remedy"] == "FIX404"

    def test_node_pools_whose_limit_is_taken_make_it_likely(self, lint, deployment):
        limits = "limits: {nvidia.com/gpu: LIMIT}"
        for limit, expected in ((1, ["likely"]), (2, [])):
            pools = pool("g5.xlarge", limits=limits.replace("LIMIT", str(limit)))
            ran = lint("-o", "json", d=self.rolling(deployment), pools=pools)
            assert [each["confidence"] for each in found(ran, "POD105")] == expected

    @pytest.mark.parametrize("strategy", ["{type: Recreate}", "{rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}"])
    def test_where_the_old_pod_goes_first_nothing_is_said(self, lint, deployment, strategy):
        assert found(lint("-o", "json", d=self.rolling(deployment, strategy)), "POD105") == []

    def test_of_many_replicas_a_quarter_goes_first(self, lint, deployment):
        assert found(lint("-o", "json", d=self.rolling(deployment, replicas=4)), "POD105") == []

    def test_a_stateful_set_ends_the_old_pod_first(self, lint, deployment):
        text = self.rolling(deployment).replace("kind: Deployment", "kind: StatefulSet").replace("strategy: {}", "x: 1")
        assert found(lint("-o", "json", d=text), "POD105") == []

    def test_a_taint_that_the_pod_does_not_tolerate_keeps_it_from_every_node(self, lint, deployment):
        pools = pool("g5.xlarge", taints="taints: [{key: team, effect: NoSchedule}]")
        (finding,) = found(lint("-o", "json", d=deployment(), pools=pools), "POD105")
        assert (finding["confidence"], finding["because"][0]["message"]) == ("likely", "placement.taint")

    def test_the_usual_taint_of_gpus_is_tolerated_by_admission(self, lint, deployment):
        pools = pool("g5.xlarge", taints="taints: [{key: nvidia.com/gpu, effect: NoSchedule}]")
        assert found(lint("-o", "json", d=deployment(), pools=pools), "POD105") == []


def applied(text, replacements):
    """Apply replacements as an editor would."""
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    for each in sorted(replacements, key=lambda each: (each["line"], each["column"]), reverse=True):
        start = starts[each["line"] - 1] + each["column"] - 1
        end = starts[each["end_line"] - 1] + each["end_column"] - 1
        text = text[:start] + each["text"] + text[end:]
    return text
