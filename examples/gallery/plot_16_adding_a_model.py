"""
Adding a model
==============

A model is a class that solves one labelling; pairs of classes, weights, kernels, checks and the certificate come with it. Here: the SVM
that pays for the squared second differences of its weights, for features that are points of a curve, solved by the hinge
solver with a regulariser of our own. An entry in ``estimators/registry.py`` would put it into experiments and the command line.
"""

import matplotlib.pyplot as plt
import numpy as np

from radiusmargin import SVM
from radiusmargin.estimators.base import ColumnwiseBaseline
from radiusmargin.paper.data import make_waveform
from radiusmargin.solvers import hinge_svm


class SmoothSVM(ColumnwiseBaseline):
    """Minimises ``1/2 (|w|^2 + 100 |second differences of w|^2) + C sum hinge``."""

    def _solve_problem(self, rows, y, costs):
        bends = np.diff(np.eye(rows.shape[1]), n=2, axis=0)
        B = np.eye(rows.shape[1]) + 100 * bends.T @ bends
        return hinge_svm(rows, np.where(y == 0, 1, y), self.C, B, np.where(y == 0, 0, costs), tol=self.tol)


X, y = make_waveform(200, random_state=0)
X_test, y_test = make_waveform(4000, random_state=1)

# %%

fig, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for model in (SVM(C=0.1), SmoothSVM(C=0.1)):
    model.fit(X, y)
    accuracy = model.score(X_test, y_test)
    ax.plot(model.coef_[0], "o-", label=f"{type(model).__name__}: {accuracy:.1%}, gap {model.dual_gap_:.0e}")
ax.axhline(0, color="0.7", lw=0.8)
ax.set(xlabel="point of the wave", ylabel="weight")
ax.legend(frameon=False)
plt.show()
