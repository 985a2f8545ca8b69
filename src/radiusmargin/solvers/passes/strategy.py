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
    """

    sample_numbers: int = 1 << 24
    near_numbers: int = 1 << 24
    sample_rows: int = 200_000

    def sample(self, n: int | None, d: int) -> int:
        """Rows of the sample. Its error falls with the root of their number, and with it the rows that stay near."""
        rows = self.sample_rows if n is None else max(50 * (d + 1), int(SAMPLE_ROOTS * n**0.5))
        return max(2, min(rows, self.sample_numbers // (d + 1)))

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
SETTLED = 0.3  # share of the gap below which what Newton's step can gain is small beside the smoothing
SHARPER = 0.3  # narrower smoothing then
ROUND = 0.1  # width of the first smoothing, over the size of the scores
NARROWEST = 1e-9  # over the same: below it there are only rounding errors
REACH = 4.0  # a Newton step changes scores by no more than so many widths
OVERSHOT = 0.9  # slope at the end of a step, over that at its start, from which the step was too long
PATIENCE = 8  # passes without a tenth of progress
BALANCE = 64  # rows that a chunk may send however small its share is
SPARE = 1.2  # keys of a chunk scatter: some more are drawn than are kept
