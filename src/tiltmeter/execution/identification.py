"""The identity of a model, loaded or by its files alone, as a key has it."""

from __future__ import annotations

import uuid
from typing import Any

from tiltmeter.execution.experiment_file import Experiment
from tiltmeter.execution.experiment_models import ExperimentModel
from tiltmeter.models import identify


def model_identity(model: Any) -> dict[str, str]:
    """All facts that decide a loaded model's answers. A model that cannot be identified equals no other."""
    unlike = {"uncacheable": uuid.uuid4().hex} if model.uncacheable else {}
    return dict(model.identity.describe()) | unlike


def identify_model(experiment: Experiment, model: ExperimentModel) -> dict[str, str] | None:
    """Identify a model by its files; None where that needs loading, as for a variant that is not made yet."""
    options = experiment.run_options(model.kind)
    if model.in_memory is not None:
        return model_identity(model.in_memory)
    if model.variant or not options.cache:
        return None
    identity = identify(model.source, options.loading, reading=False)
    return None if identity is None else dict(identity.describe())
