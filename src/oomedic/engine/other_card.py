"""The same engine on another card: what was given stands, and the defaults are those that the other card brings."""

from collections.abc import Mapping

from oomedic.arguments.given import EngineArgs, Given
from oomedic.engine.config import EngineConfig, ModelFacts, configure
from oomedic.gpu import Gpu


def on_card(config: EngineConfig, environment: Mapping[str, str], model: ModelFacts, gpu: Gpu) -> EngineConfig:
    """Return the configuration with another card's defaults: batches, and before 0.11 the engine's generation.

    Args:
        config: of the engine as it is known.
        environment: variables that were given.
        model: what defaults depend on in the model.
        gpu: the other card.
    """
    given = {
        name: Given(setting.value, setting.where)
        for name, setting in config.settings.items()
        if setting.origin != "default"
    }
    return configure(EngineArgs(given, environment), model, gpu, config.rules)
