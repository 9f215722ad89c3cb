"""Claims and errors into sentences, from a message catalogue."""

from collections.abc import Mapping
from string import Formatter
from typing import Any

from oomedic.claim import Claim
from oomedic.errors import OomedicError
from oomedic.reports.numbers import PLURAL, Numbers
from oomedic.units import gib


class Phrasebook:
    """Renders messages of one language. ``decimal`` shows GB beside GiB, when the user gave sizes so."""

    def __init__(self, messages: Mapping[str, str], *, decimal: bool = False, numbers: Numbers | None = None) -> None:
        """Take the texts by their ids, and how the language writes numbers; English without it."""
        self._messages = messages
        self._numbers = numbers or Numbers()
        self._formatter = _Sizes(messages.get("label.none", "–"), self._numbers, decimal=decimal)

    def say(self, claim: Claim) -> str:
        """Render a claim; a message that the catalogue lacks shows its id and parameters."""
        return self.text(claim.message, **claim.parameters)

    def text(self, message: str, /, **parameters: Any) -> str:
        """Render a message by its id."""
        template = self._messages.get(message)
        if template is None:
            return f"{message} {dict(parameters)}" if parameters else message
        return self._formatter.vformat(template, (), _Shown(parameters))

    def has(self, message: str) -> bool:
        """Tell whether a message is there."""
        return message in self._messages

    def error(self, error: OomedicError) -> tuple[str, str]:
        """Render an error: what happened and what it means, and what to do."""
        parameters = {**error.parameters}
        reason = f"edit-reason.{parameters.get('reason')}"
        if self.has(reason):
            parameters["reason"] = self.text(reason)
        do = f"error.{error.slug}.do"
        return self.text(f"error.{error.slug}.says", **parameters), self.text(do, **parameters) if self.has(do) else ""

    def size(self, size: int) -> str:
        """Write a size, in the user's unit beside GiB where that was another one."""
        return self._formatter.format_field(size, "gib")

    def named(self, words: str) -> str:
        """Write where a figure comes from, or what a part is called: ``total - context``, ``… x command line``.

        What consists of our own words is translated; names of files, keys and arguments stay.
        """
        parts = (" x ".join(map(self._own, part.split(" x "))) for part in words.split(", "))
        return ", ".join(parts)

    def number(self, number: float, form: str) -> str:
        """Write a number in one of Python's formats, such as ``.2f``, with the signs of the language."""
        return self.written(format(number, form))

    def written(self, figure: str) -> str:
        """Write a figure that is text already, such as ``14.56 GiB``."""
        return self._numbers.written(figure)

    def _own(self, words: str) -> str:
        return self._messages.get(f"named.{words}", words)


class _Sizes(Formatter):
    """Adds the formats ``gib`` for bytes, ``billions`` for parameters and ``plural``; what is not known is a dash."""

    def __init__(self, none: str, numbers: Numbers, *, decimal: bool) -> None:
        self._none = none
        self._numbers = numbers
        self._decimal = decimal

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec.startswith(PLURAL):
            return self._numbers.form(value, format_spec.removeprefix(PLURAL).split("|"))
        if value is None:
            return "–"
        if isinstance(value, tuple):
            return ", ".join(map(str, value)) or self._none
        return self._figure(value, format_spec)

    def _figure(self, value: Any, form: str) -> str:
        """Write a figure with the language's signs; the value of an argument, which has no format, as it is given."""
        if form == "gib":
            text = gib(value)
            return self._numbers.written(
                f"{text} ({value / 1e9:.1f} GB)" if self._decimal and abs(value) >= 1e8 else text
            )
        if form == "billions":
            return self._numbers.written(f"{value / 1e9:.0f}B" if value >= 1e10 else f"{value / 1e9:.1f}B")
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 100_000:
            return self._numbers.written(f"{value:,}")
        text = format(value, form)
        return self._numbers.written(text) if form else text


class _Shown(dict[str, Any]):
    """Shows a parameter that is missing by its name, rather than to fail."""

    def __missing__(self, key: str) -> str:
        return "{" + key + "}"
