"""Every number that decides what a pass over the chunks asks for, and when."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds on the data that are sent to the driver.

    Parameters
    ----------
    sample_numbers, near_numbers : int
        Most entries of the sampled rows, and of the rows near the margin of all problems together: 128 MiB each. The
        solver of the reduced problem needs about three times as much again.
    sample_rows : int
        Rows to sample if the number of rows is not known beforehand.
    least_rows : int
        Least rows to sample, for callers that also use the sample themselves.
    """

    sample_numbers: int = 1 << 24
    near_numbers: int = 1 << 24
    sample_rows: int = 200_000
    least_rows: int = 2

    def sample(self, n: int | None, d: int) -> int:
        """Number of rows to sample from n. The sampling error, and the rows near the margin, fall with its square root."""
        rows = self.sample_rows if n is None else max(50 * (d + 1), int(SAMPLE_ROWS_PER_ROOT * n**0.5))
        return max(self.least_rows, min(rows, self.sample_numbers // (d + 1)))

    def near(self, d: int, problems: int) -> int:
        """Most rows near the margin that may be sent for each of `problems` problems."""
        return max(1, self.near_numbers // ((d + 1) * problems))


# The sample.
SAMPLE_ROWS_PER_ROOT = 100  # sampled rows over the square root of all rows: 1e5 of 1e6, 1e6 of 1e8
SAMPLE_TOL = 1e-4  # relative gap of the sample's solution, whose statistical error is larger
SAMPLE_SIGMAS = 4.0  # scores of the sample's solution are off by more for one row in ten thousand
SAMPLE_STEPS = 200  # most Newton steps on the sample
OVERSAMPLING = 1.2  # candidates drawn over rows kept: the number of keys below a threshold is random
MIN_CHUNK_ROWS = 64  # rows that a chunk may send, however small its share is

# Near-margin queries.
BINS = 16  # bins of distance for the means of the far rows, each twice as wide as the previous one
MOVE_WIDTHS = 3.0  # rows within so many root mean square moves of the scores may change sides in the next round
MAX_NARROWING = 0.1  # the width shrinks at most to this fraction: the next move may be larger again
REDUCED_TOL = 0.1  # share of the tolerance that the reduced problem may use
MIN_GAP_RATIO = 0.5  # a round that leaves more of the gap than this moved further than its rows could justify
WIDENING = 4.0  # factor of the width after such a round
MIN_WIDTH = 1e-9  # width below which there are only rounding errors
COMPLETE_WIDTH = 1e-3  # width if the sample holds all rows: the pass only has to confirm the solution

# Newton queries.
RESIDUAL_RATIO = (
    1.0  # share of the gap due to the gradient, over the multipliers' slack, below which the latter are updated
)
PENALTY_GROWTH = 10.0  # factor of the penalty at such an update
FIRST_PENALTY = 0.45  # every row is within the width
MAX_STEP_WIDTHS = 4.0  # a Newton step changes scores by at most so many widths
OVERSHOOT = 0.5  # a step is too long if the slope at its end exceeds this fraction of that at its start
STEP_FRACTIONS = tuple(0.5**k for k in range(12, 0, -1))  # fractions of a step at which its slope is evaluated

STALL_PASSES = 12  # stop after so many passes that reduce the gap by less than a tenth
