"""What became of a check: a value that a worker sends to the runner, and the runner prints and counts."""

import dataclasses
import json


@dataclasses.dataclass
class Outcome:
    """The end of one check, or of what prepares a class of checks."""

    word: str  # ok, FAIL or skip
    name: str  # module.Class.method
    sentence: str
    seconds: float
    details: str = ""  # the end of a failure's trace, or the reason of a skip
    figures: list = dataclasses.field(default_factory=list)

    def encoded(self):
        return json.dumps(dataclasses.asdict(self)) + "\n"

    @staticmethod
    def decoded(line):
        return Outcome(**json.loads(line))


class Recorder:
    """Prints one line per check, the details of a failure below it and the figures; keeps what a summary needs."""

    def __init__(self, quiet):
        self._quiet, self.outcomes = quiet, []

    def __call__(self, outcome):
        self.outcomes.append(outcome)
        if outcome.word != "ok" or not self._quiet:
            print(f"{outcome.word:<4}  {outcome.sentence}  [{outcome.seconds:.1f} s]", flush=True)
        for line in outcome.details.splitlines():
            print("      " + line[:400], flush=True)
        for figure in outcome.figures:
            print(figure, flush=True)

    def of(self, word):
        return [outcome for outcome in self.outcomes if outcome.word == word]

    def forget(self, names):
        """Drops the failures of these checks, which are tried once more."""
        self.outcomes = [outcome for outcome in self.outcomes if outcome.word != "FAIL" or outcome.name not in names]

    def is_success(self):
        return not self.of("FAIL") and bool(self.of("ok"))

    def missing(self, names):
        """Yields an outcome for each of these checks that has none, and whose class or module does not say why: it is
        skipped with its class, or it has failed."""
        told = {outcome.name: outcome.word for outcome in self.outcomes}
        for name in names:
            suite = name.rpartition(".")[0]
            word = told.get(f"setUpClass ({suite})")
            if name not in told and word != "FAIL" and name.partition(".")[0] not in told:
                yield Outcome(word or "FAIL", name, name, 0.0, "" if word else "It was to run, and reported nothing.")

    def summary(self):
        """Returns how many checks passed, failed and were skipped; one that failed in several places counts once."""
        passed, failed, skipped = (
            len({outcome.name for outcome in self.of(word)}) for word in ("ok", "FAIL", "skip"))
        # What a class says of itself stands beside what becomes of its checks.
        skipped -= len({outcome.name for outcome in self.of("skip") if outcome.name.startswith("setUpClass ")})
        return f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")
