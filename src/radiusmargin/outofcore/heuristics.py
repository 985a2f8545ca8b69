"""When to do what in passes over chunks: every number that such a decision depends on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How much may come to the driver.

    Parameters
    ----------
    sample_numbers, near_numbers : int
        Entries of the sampled rows, and of the rows near the margin of all problems together: 128 MiB each. The solver of
        the reduced problem needs about three times as much again.
    sample_rows : int
        Rows of the sample where their number is not known beforehand.
    least_rows : int
        Rows of the sample that a caller has another use for.
    """

    sample_numbers: int = 1 << 24
    near_numbers: int = 1 << 24
    sample_rows: int = 200_000
    least_rows: int = 2

    def sample(self, n: int | None, d: int) -> int:
        """Rows of the sample. Its error falls with the root of their number, and with it the rows that stay near."""
        rows = self.sample_rows if n is None else max(50 * (d + 1), int(SAMPLE_ROOTS * n**0.5))
        return max(self.least_rows, min(rows, self.sample_numbers // (d + 1)))

    def near(self, d: int, problems: int) -> int:
        """Rows near the margin of one of so many problems."""
        return max(1, self.near_numbers // ((d + 1) * problems))


SAMPLE_ROOTS = 100  # rows of the sample over the root of their number: 1e5 of 1e6, 1e6 of 1e8
SAMPLE_TOL = 1e-4  # relative gap of its solution, whose statistical error is larger
BINS = 16  # each twice as wide as the one before: means of the rows far from the margin
SIGMAS = 4.0  # scores of a sample's solution are off by more for one row in ten thousand
MOVES = 3.0  # rows within so many (root mean square) moves of the scores may change sides in the next
NARROW = 0.1  # at most this much narrower than before: the next move may be larger again
REDUCED_TOL = 0.1  # share of the tolerance that the reduced problem may take of the gap
PROMISED = 0.5  # a round that leaves more of the gap than this went beyond what its rows could tell
WIDER = 4.0  # after such a round
SETTLED = 1.0  # what the gap has of the gradient, over the slack of the multipliers, from which on these are moved
GROWTH = 10.0  # of the penalty then
FIRST_PENALTY = 0.45  # every row is within the width
SAMPLE_STEPS = 200  # of Newton's method on the sample
NARROWEST = 1e-9  # width below which there are only rounding errors
VERIFY = 1e-3  # width where all rows are known, and a pass only has to tell that they are
REACH = 4.0  # a Newton step changes scores by no more than so many widths
OVERSHOT = 0.5  # slope at the end of a step, over that at its start, from which the step was too long
TRIALS = tuple(0.5**k for k in range(12, 0, -1))  # shares of a step at which its slope is looked at
PATIENCE = 12  # passes without a tenth of progress
BALANCE = 64  # rows that a chunk may send however small its share is
SPARE = 1.2  # keys of a chunk scatter: some more are drawn than are kept
