"""The ways to another machine: what each changes, in which order they are offered, and that none narrows a pool."""

import pytest
import yaml

from oomedic.errors import InputError
from oomedic.manifest import read_workloads
from oomedic.placement.landing import landings
from oomedic.placement.move import Goal, Surroundings, moves
from oomedic.placement.needs import needs_of
from oomedic.placement.new_pool import class_like, knows_gpu_images, pool_name
from oomedic.placement.node_pool import read_node_pools
from oomedic.placement.widening import widen

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: vllm-llama}
spec:
  replicas: 2
  template:
    spec:
      nodeSelector:
        karpenter.k8s.aws/instance-gpu-name: a10g
        team: inference
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.10.2
          args: [--model, org/model, --tensor-parallel-size=4]
          resources: {limits: {nvidia.com/gpu: 4}}
"""
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    metadata: {labels: {team: inference}}
    spec:
      requirements:
        - {key: karpenter.k8s.aws/instance-gpu-name, operator: In, values: ["a10g", "l4"]}  # small cards
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints:
        - {key: nvidia.com/gpu, value: "true", effect: NoSchedule}
  limits: {nvidia.com/gpu: 8, cpu: 1000}
"""
NODE_CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 300Gi, encrypted: true, iops: 3000}}]
"""


@pytest.fixture
def planned(instances):
    return {each.type: each for each in instances}


def goal_of(text, instance, gpus, catalogue):
    (workload,) = read_workloads(text, "deployment.yaml", catalogue.arguments)
    return Goal(instance, workload, text, text, gpus)


def around(instances, *pool_texts, classes=NODE_CLASS):
    texts = {f"pool-{number}.yaml": text for number, text in enumerate(pool_texts)}
    pools = [pool for path, text in texts.items() for pool in read_node_pools(text, path)]
    named = {each["metadata"]["name"]: each for each in yaml.safe_load_all(classes)} if classes else {}
    return Surroundings(pools, named, texts, instances)


def ways(found):
    return [move.way for move in found]


def pod_of(text):
    return yaml.safe_load(text)["spec"]["template"]["spec"]


def after(move, path="deployment.yaml"):
    return next(file.after for file in move.files if file.path == path)


def test_a_pool_that_makes_such_nodes_needs_a_selector_alone(instances, planned, catalogue):
    goal = goal_of(DEPLOYMENT, planned["g6.12xlarge"], 4, catalogue)
    found = moves(goal, around(instances, POOL))
    assert ways(found) == ["selector", "new-pool"]
    (file,) = found[0].files
    pod = pod_of(file.after)
    assert pod["nodeSelector"] == {"karpenter.k8s.aws/instance-gpu-name": "l4", "team": "inference"}
    assert pod["tolerations"][0]["key"] == "nvidia.com/gpu"
    assert pod["containers"] == pod_of(DEPLOYMENT)["containers"]


def test_the_pod_lands_on_the_planned_machine_afterwards(instances, planned, catalogue):
    goal = goal_of(DEPLOYMENT, planned["g6.12xlarge"], 4, catalogue)
    surroundings = around(instances, POOL)
    (workload,) = read_workloads(after(moves(goal, surroundings)[0]), "f", catalogue.arguments)
    (landing,) = landings(needs_of(workload), surroundings.pools, instances).open
    assert landing.instances[0].type == "g6.12xlarge"


def test_another_card_gets_a_pool_of_its_own_first_and_a_wider_pool_last(instances, planned, catalogue):
    goal = goal_of(DEPLOYMENT, planned["g6e.12xlarge"], 4, catalogue)
    assert ways(moves(goal, around(instances, POOL))) == ["new-pool", "wider-pool"]


def new_pool(move):
    (file,) = (file for file in move.files if file.before is None)
    return list(yaml.safe_load_all(file.after))


def test_a_new_pool_has_a_limit_a_taint_and_the_class_of_the_present_one(instances, planned, catalogue):
    goal = goal_of(DEPLOYMENT, planned["g6e.12xlarge"], 4, catalogue)
    move = moves(goal, around(instances, POOL))[0]
    (pool,) = new_pool(move)
    spec = pool["spec"]["template"]["spec"]
    asked = {each["key"]: each["values"] for each in spec["requirements"]}
    assert asked["node.kubernetes.io/instance-type"] == ["g6e.12xlarge", "g6e.24xlarge"]
    assert asked["karpenter.k8s.aws/instance-gpu-name"] == ["l40s"]
    assert asked["karpenter.sh/capacity-type"] == ["on-demand"]
    assert spec["nodeClassRef"] == {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    assert [taint["key"] for taint in spec["taints"]] == ["nvidia.com/gpu", "dedicated"]
    # two replicas of four GPUs, and one machine more while a rollout starts the new pod beside the old
    assert pool["spec"]["limits"] == {"nvidia.com/gpu": 12}


def test_a_pod_that_is_recreated_needs_no_spare_machine(instances, planned, catalogue):
    text = DEPLOYMENT.replace("  replicas: 2\n", "  replicas: 2\n  strategy: {type: Recreate}\n")
    (pool,) = new_pool(moves(goal_of(text, planned["g6e.12xlarge"], 4, catalogue), around(instances, POOL))[0])
    assert pool["spec"]["limits"] == {"nvidia.com/gpu": 8}


def test_the_pod_goes_to_its_own_pool_and_to_no_other(instances, planned, catalogue):
    goal = goal_of(DEPLOYMENT, planned["g6e.12xlarge"], 4, catalogue)
    move = moves(goal, around(instances, POOL))[0]
    pod = pod_of(after(move))
    assert pod["nodeSelector"]["karpenter.sh/nodepool"] == "vllm-llama-gpu"
    # the label of the old card gives way, the team's own label is put on the new nodes
    assert pod["nodeSelector"]["karpenter.k8s.aws/instance-gpu-name"] == "l40s"
    assert new_pool(move)[0]["spec"]["template"]["metadata"]["labels"] == {"team": "inference"}
    (text,) = (file.after for file in move.files if file.before is None)
    (workload,) = read_workloads(after(move), "f", catalogue.arguments)
    found = landings(needs_of(workload), [*read_node_pools(POOL, "p"), *read_node_pools(text, "n")], instances)
    assert [landing.pools for landing in found.open] == [("vllm-llama-gpu",)]
    assert found.open[0].instances[0].type == "g6e.12xlarge"


def test_a_wider_pool_keeps_all_that_it_had(instances, planned, catalogue):
    goal = goal_of(DEPLOYMENT, planned["g6e.12xlarge"], 4, catalogue)
    move = moves(goal, around(instances, POOL))[1]
    (file,) = (file for file in move.files if file.path == "pool-0.yaml")
    before, now = yaml.safe_load(file.before), yaml.safe_load(file.after)
    requirements = now["spec"]["template"]["spec"]["requirements"]
    assert requirements[0]["values"] == ["a10g", "l4", "l40s"]
    assert "# small cards" in file.after
    assert now["spec"]["limits"] == {"nvidia.com/gpu": 12, "cpu": 1000}
    requirements[0]["values"] = ["a10g", "l4"]
    now["spec"]["limits"] = before["spec"]["limits"]
    assert now == before


def test_a_pool_in_the_workloads_own_file_is_widened_there(instances, planned, catalogue):
    text = f"{DEPLOYMENT}---\n{POOL}"
    goal = goal_of(text, planned["g6e.12xlarge"], 4, catalogue)
    surroundings = Surroundings(read_node_pools(text, "deployment.yaml"), {}, {"deployment.yaml": text}, instances)
    wider = next(move for move in moves(goal, surroundings) if move.way == "wider-pool")
    (file,) = wider.files
    workload, pool = yaml.safe_load_all(file.after)
    assert workload["spec"]["template"]["spec"]["nodeSelector"]["karpenter.k8s.aws/instance-gpu-name"] == "l40s"
    assert "l40s" in pool["spec"]["template"]["spec"]["requirements"][0]["values"]


@pytest.mark.parametrize(
    "requirement",
    [
        "{key: karpenter.k8s.aws/instance-gpu-memory, operator: Lt, values: ['30000']}",
        "{key: karpenter.k8s.aws/instance-family, operator: NotIn, values: [g6e]}",
    ],
)
def test_what_a_pool_excludes_by_other_than_a_list_is_not_undone(requirement, planned):
    text = POOL.replace("      requirements:\n", f"      requirements:\n        - {requirement}\n")
    (pool,) = read_node_pools(text, "f")
    with pytest.raises(InputError, match="edit-refused"):
        widen(text, pool, planned["g6e.12xlarge"], 4)


def test_a_limit_that_is_too_small_is_raised_and_a_selector_alone_is_not_offered(instances, planned, catalogue):
    small = POOL.replace("nvidia.com/gpu: 8", "nvidia.com/gpu: 2")
    found = moves(goal_of(DEPLOYMENT, planned["g6.12xlarge"], 4, catalogue), around(instances, small))
    assert ways(found) == ["new-pool", "wider-pool"]
    (file,) = (file for file in found[1].files if file.path == "pool-0.yaml")
    assert yaml.safe_load(file.after)["spec"]["limits"]["nvidia.com/gpu"] == 12


def test_cards_of_one_name_and_two_sizes_are_told_apart_by_memory(instances, planned, catalogue):
    text = POOL.replace('"a10g", "l4"', "a100")
    found = moves(goal_of(DEPLOYMENT, planned["p4de.24xlarge"], 8, catalogue), around(instances, text))
    assert pod_of(after(found[0]))["nodeSelector"]["karpenter.k8s.aws/instance-gpu-memory"] == "81920"


AUTO = POOL.replace("karpenter.k8s.aws/", "eks.amazonaws.com/").replace(
    "{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}",
    "{group: eks.amazonaws.com, kind: NodeClass, name: default}",
)


def test_auto_mode_has_its_own_labels_and_node_class(instances, planned, catalogue):
    text = DEPLOYMENT.replace("karpenter.k8s.aws/", "eks.amazonaws.com/")
    found = moves(goal_of(text, planned["g6.12xlarge"], 4, catalogue), around(instances, AUTO))
    assert ways(found) == ["selector", "new-pool"]
    assert pod_of(after(found[0]))["nodeSelector"]["eks.amazonaws.com/instance-gpu-name"] == "l4"
    (pool,) = new_pool(found[1])
    assert pool["spec"]["template"]["spec"]["nodeClassRef"]["group"] == "eks.amazonaws.com"
    assert "eks.amazonaws.com/instance-gpu-name" in [
        each["key"] for each in pool["spec"]["template"]["spec"]["requirements"]
    ]


def test_auto_mode_is_known_by_the_labels_that_a_pod_asks_for(instances, planned, catalogue):
    text = DEPLOYMENT.replace("karpenter.k8s.aws/", "eks.amazonaws.com/")
    found = moves(goal_of(text, planned["g6e.12xlarge"], 4, catalogue), around(instances))
    (pool,) = new_pool(found[0])
    assert pool["spec"]["template"]["spec"]["nodeClassRef"] == {
        "group": "eks.amazonaws.com",
        "kind": "NodeClass",
        "name": "default",
    }


def test_without_pools_a_class_with_the_gpu_image_comes_along_or_a_node_group_is_made(instances, planned, catalogue):
    found = moves(goal_of(DEPLOYMENT, planned["g6e.12xlarge"], 4, catalogue), around(instances))
    assert ways(found) == ["new-pool", "node-group"]
    pool, node_class = new_pool(found[0])
    assert node_class["spec"]["amiSelectorTerms"] == [{"alias": "al2023@latest"}]
    assert pool["spec"]["template"]["spec"]["nodeClassRef"]["name"] == node_class["metadata"]["name"]
    assert [remark.message for remark in found[0].remarks] == ["move.new-pool", "move.no-pool-given", "move.new-class"]
    assert pod_of(after(found[1]))["nodeSelector"]["node.kubernetes.io/instance-type"] == "g6e.12xlarge"


def test_a_class_that_names_its_image_by_id_is_copied_with_an_image_for_gpus(instances, planned, catalogue):
    by_id = NODE_CLASS.replace("[{alias: al2023@latest}]", "[{id: ami-0123456789abcdef0}]")
    surroundings = around(instances, POOL, classes=by_id)
    move = moves(goal_of(DEPLOYMENT, planned["g6e.12xlarge"], 4, catalogue), surroundings)[0]
    pool, node_class = new_pool(move)
    assert node_class["metadata"] == {"name": "default-gpu"}
    assert node_class["spec"]["amiSelectorTerms"] == [{"alias": "al2023@latest"}]
    assert node_class["spec"]["blockDeviceMappings"][0]["ebs"] == {
        "volumeSize": "300Gi",
        "encrypted": True,
        "iops": 3000,
    }
    assert pool["spec"]["template"]["spec"]["nodeClassRef"]["name"] == "default-gpu"
    assert "move.own-image" in [remark.message for remark in move.remarks]


@pytest.mark.parametrize(
    ("terms", "known"),
    [
        ([{"alias": "al2023@v20260801"}], True),
        ([{"alias": "bottlerocket@latest"}], True),
        ([{"alias": "windows2022@latest"}], False),
        ([{"id": "ami-1"}], False),
        ([], False),
    ],
)
def test_images_for_gpus_are_known_by_their_alias(terms, known):
    assert knows_gpu_images({"amiSelectorTerms": terms}) is known


def test_a_copied_class_loses_its_family_of_images():
    copied = yaml.safe_load(class_like({"kind": "EC2NodeClass", "spec": {"amiFamily": "Custom", "role": "r"}}, "n"))
    assert copied["spec"] == {"role": "r", "amiSelectorTerms": [{"alias": "al2023@latest"}]}


def test_machines_that_are_rarely_had_on_demand_get_reserved_nodes_too(instances, planned, catalogue):
    text = DEPLOYMENT.replace("nvidia.com/gpu: 4", "nvidia.com/gpu: 8")
    move = moves(goal_of(text, planned["p5en.48xlarge"], 8, catalogue), around(instances, POOL))[0]
    (pool,) = new_pool(move)
    asked = {each["key"]: each["values"] for each in pool["spec"]["template"]["spec"]["requirements"]}
    assert asked["karpenter.sh/capacity-type"] == ["reserved", "on-demand"]


@pytest.mark.parametrize("label", ["nvidia.com/gpu.product: NVIDIA-A10G", "eks.amazonaws.com/nodegroup: gpu"])
def test_labels_that_no_pool_can_promise_stop_a_new_pool(label, instances, planned, catalogue):
    text = DEPLOYMENT.replace("team: inference", label)
    found = moves(goal_of(text, planned["g6e.12xlarge"], 4, catalogue), around(instances, POOL))
    assert ways(found) == []


@pytest.mark.parametrize("name", ["a", "A_B", "x" * 90, "---", "vllm.llama"])
def test_the_name_of_a_pool_is_a_label_value(name):
    found = pool_name(name)
    assert len(found) <= 63
    assert found.strip("-") == found
    assert set(found) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
