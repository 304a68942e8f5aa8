"""What a worker imports, imported once before the workers are forked. Nothing here may start CUDA."""

from importlib import import_module

NAMES = (
    "tiltmeter.execution.plan",
    "tiltmeter.execution.worker",
    "tiltmeter.debias",
    "sklearn.linear_model",
    "transformers.models.bert.modeling_bert",
    "transformers.models.gpt2.modeling_gpt2",
)

for name in NAMES:
    import_module(name)
