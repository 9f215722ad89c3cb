import pytest

from oomedic.kube.ownership import Manager, Reference, controller_of, managers, reference


def kept(labels=None, annotations=None):
    return {"metadata": {"name": "chat", "labels": labels or {}, "annotations": annotations or {}}}


@pytest.mark.parametrize(
    ("labels", "annotations", "manager"),
    [
        ({}, {"meta.helm.sh/release-name": "chat", "meta.helm.sh/release-namespace": "llm"}, ("helm", "chat", "llm")),
        ({"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": "chat"}, {}, ("helm", "chat", None)),
        ({}, {"argocd.argoproj.io/tracking-id": "chat:apps/Deployment:llm/vllm"}, ("argocd", "chat", None)),
        ({}, {"argocd.argoproj.io/tracking-id": "team_chat:apps/Deployment:llm/vllm"}, ("argocd", "chat", "team")),
        ({"argocd.argoproj.io/instance": "chat"}, {}, ("argocd", "chat", None)),
        (
            {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"},
            {},
            ("flux-kustomize", "apps", "flux-system"),
        ),
        ({"helm.toolkit.fluxcd.io/name": "chat"}, {}, ("flux-helm", "chat", None)),
    ],
)
def test_a_tool_that_keeps_an_object_is_known_by_its_marks(labels, annotations, manager):
    assert managers(kept(labels, annotations)) == (Manager(*manager),)


def test_an_object_without_marks_is_kept_by_nobody():
    assert managers(kept({"app": "chat", "app.kubernetes.io/managed-by": "kubectl"})) == ()


def test_the_controller_is_the_owner_that_says_so():
    owners = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "other"},
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "chat-1", "controller": True},
    ]
    pod = {"metadata": {"name": "chat-1-x", "namespace": "llm", "ownerReferences": owners}}
    assert controller_of(pod) == Reference("apps/v1", "ReplicaSet", "llm", "chat-1")
    assert controller_of({"metadata": {"name": "alone"}}) is None


def test_a_reference_knows_its_group():
    found = reference({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "chat", "namespace": "llm"}})
    assert (found.group, str(found)) == ("apps", "Deployment/chat")
    assert Reference("v1", "Pod", "llm", "p").group == ""
