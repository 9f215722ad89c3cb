"""Forms in which a change of a manifest is shown: one module per form, each with ``render(changed)``."""
