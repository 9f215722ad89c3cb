"""The JSON report, written as YAML."""

from oomedic.reports.json import as_tree
from oomedic.reports.phrases import Phrasebook
from oomedic.result import Report


def render(report: Report, phrases: Phrasebook) -> str:
    """Return the report as YAML."""
    import yaml  # only where YAML is asked for

    return str(yaml.dump(as_tree(report, phrases), Dumper=yaml.SafeDumper, sort_keys=False, allow_unicode=True))
