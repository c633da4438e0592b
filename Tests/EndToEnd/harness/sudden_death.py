"""Times kills so that they fall before and after the decisive moment."""


class Edge:
    """Draws delays around the moment at which an operation takes effect; each outcome improves the estimate of that
    moment."""

    def __init__(self, dice, guess):
        self._dice, self._moment = dice, guess

    def delay(self):
        return self._dice.uniform(0.4, 1.6) * self._moment

    def note(self, was_done):
        self._moment *= 0.85 if was_done else 1 / 0.85
