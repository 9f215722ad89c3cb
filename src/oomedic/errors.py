"""What can go wrong for a user, as values.

    OomedicError
    ├── UsageError      an option, argument or size that cannot be understood
    ├── InputError      a file, log or manifest that cannot be read
    ├── UnknownName     a GPU, model or code that no catalogue knows, with the nearest known names
    ├── ClusterError    a cluster that cannot be reached, or refuses what the whole command needs
    └── MissingExtra    an optional part that is not installed, with the command that installs it

An error carries a slug and named parameters, never a sentence: what happened, what it means and what to do stand in the
message catalogue under ``error.<slug>``, in every language. The command line ends with status 2 on all of them but
ClusterError, which is status 3: something could not be collected.
"""

Parameter = str | int | float | bool | None | tuple[str, ...]


class OomedicError(Exception):
    """A problem that the user can act on; ``slug`` names it, ``parameters`` fill its message."""

    exit_status = 2

    def __init__(self, slug: str, **parameters: Parameter) -> None:
        """Keep the slug and the parameters apart, so that a report can render them in its language."""
        super().__init__(slug)
        self.slug = slug
        self.parameters = parameters

    def __str__(self) -> str:
        """Slug and parameters, for developers; users see the rendered message."""
        return f"{self.slug} {self.parameters}" if self.parameters else self.slug


class UsageError(OomedicError):
    """An option, argument or size that cannot be understood."""


class InputError(OomedicError):
    """A file, log or manifest that cannot be read."""


class UnknownName(OomedicError):  # noqa: N818 - it reads as what it says: the name is unknown
    """A GPU, model or code that no catalogue knows, with the nearest known names."""


class MissingExtra(OomedicError):  # noqa: N818 - it reads as what it says: an extra is missing
    """An optional part that is not installed, with the command that installs it."""


class ClusterError(OomedicError):
    """A cluster that cannot be reached, or refuses what the whole command needs."""

    exit_status = 3
