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

    def summary(self):
        skipped = len(self.of("skip"))
        return f"{len(self.of('ok'))} passed, {len(self.of('FAIL'))} failed" + (f", {skipped} skipped" if skipped else "")
