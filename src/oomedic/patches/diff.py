"""A unified diff of the files: for ``git apply``, ``patch -p1`` and people."""

from oomedic.patches.changed import Changed
from oomedic.patches.patching import diff_of_files
from oomedic.redaction import redact


def render(changed: Changed) -> str:
    """Return the diff of every file that differs, new ones as a whole; no secret is shown."""
    return diff_of_files(changed.before, changed.after) + "".join(_made(changed, path) for path in changed.made)


def _made(changed: Changed, path: str) -> str:
    lines = redact(changed.after[path]).splitlines()
    body = "".join(f"+{line}\n" for line in lines)
    return f"--- /dev/null\n+++ b/{path.lstrip('/')}\n@@ -0,0 +1,{len(lines)} @@\n{body}"
