"""Times kills so that they fall before and after the decisive moment."""


class Edge:
    """Draws delays around the moment at which an operation takes effect; each outcome improves the estimate of that
    moment."""

    def __init__(self, dice, guess):
        self._dice, self._moment, self._outcomes = dice, guess, set()

    def delay(self):
        return self._dice.uniform(0.4, 1.6) * self._moment

    def note(self, was_done):
        self._outcomes.add(was_done)
        # Until both outcomes were seen, the guess may be far off: a busy machine stops for seconds.
        step = 0.85 if len(self._outcomes) > 1 else 0.6
        self._moment *= step if was_done else 1 / step
