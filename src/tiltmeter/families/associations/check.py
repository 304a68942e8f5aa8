"""Checks of association tests before a model is asked."""

from __future__ import annotations

from collections.abc import Sequence

from tiltmeter.benchmarks import AssociationBenchmark, Benchmark
from tiltmeter.benchmarks.kit.word_sets import WordFile
from tiltmeter.errors import TiltmeterError
from tiltmeter.families.associations.corpus import check_corpus, choose
from tiltmeter.families.associations.options import Options
from tiltmeter.families.kit.refusals import refuse_vectors
from tiltmeter.families.kit.seam import Known


def check(benchmark: Benchmark, models: Sequence[Known], options: Options) -> None:
    """Raises an error for unknown tests, domains and words, for CEAT without text, and for models that cannot answer."""
    if not isinstance(benchmark, AssociationBenchmark):
        raise TiltmeterError(f"{benchmark.name} has no association tests.")
    options.check()
    refuse_vectors([known for known in models if known.kind == "classifier"], benchmark)
    if benchmark.kind == "ceat":
        check_corpus(options)
        choose(benchmark, options.tests)
        refuse_vectors([known for known in models if known.kind == "static"], benchmark)
    elif benchmark.kind == "ilps":
        benchmark.select_groups(options.tests)
        WordFile(options.words).list_contrasts(options.attributes)
        refuse_vectors(models, benchmark)
    else:
        benchmark.select(options.tests)
