"""oomedic undo: take back the last change that `oomedic fix` recorded in an object."""

from typing import TYPE_CHECKING

from oomedic.claim import claim
from oomedic.entrypoints.commands.live import open_cluster
from oomedic.entrypoints.live_requests import take_back
from oomedic.entrypoints.targets import kind_and_name
from oomedic.entrypoints.terminal import catalogue, phrasebook, write
from oomedic.kube.ownership import reference
from oomedic.live_change import recorded
from oomedic.live_diagnosis import edited_object

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: "Namespace") -> int:
    """Undo and return the exit status."""
    facts = catalogue(options)
    with open_cluster(options) as cluster:
        found, _ = edited_object(cluster.workload(*kind_and_name(options.target)), facts)
        target = reference(found)
        record = recorded(found) or {}
        left = take_back(cluster, target)
    remedies = tuple(map(str, record.get("remedies") or ()))
    told = claim("rollout.undone", target=str(target), remedies=remedies, at=str(record.get("at")))
    phrases = phrasebook(options)
    write("".join(f"{phrases.say(each)}\n" for each in (told, *left)))
    return 0
