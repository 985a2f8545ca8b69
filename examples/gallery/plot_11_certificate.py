"""
A certificate by hand
=====================

Both sides of weak duality, from what a fitted kernel machine returns and nothing else: the objective P at the model, and the bound D
of its multipliers. The minimum lies between them. ``SVC`` has the same attributes, so its gap can be computed too.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from radiusmargin import SVM
from radiusmargin.paper.data import make_waveform

X, y = make_waveform(400, random_state=0)
y = np.where(y == y.max(), 1, -1)
gamma = 1 / X.shape[1]
K = rbf_kernel(X, gamma=gamma)


def bounds(model, C):
    """P and D of a fitted kernel machine, by their definitions."""
    v = np.zeros(len(X))
    v[model.support_] = model.dual_coef_[0]  # y_i alpha_i
    alpha = y * v
    assert abs(v.sum()) < 1e-6  # feasible: without this D would bound nothing
    assert (alpha >= -1e-12).all()
    assert (alpha <= C * (1 + 1e-12)).all()
    norm, scores = v @ K @ v, K @ v + model.intercept_[0]
    return norm / 2 + C * np.maximum(0, 1 - y * scores).sum(), alpha.sum() - norm / 2


# %%

Cs = np.geomspace(0.1, 1000, 9)
gaps = {"SVC(), tol=1e-3": [], "SVM(), tol=1e-6": []}
for C in Cs:
    for name, model in zip(gaps, (SVC(C=C, gamma=gamma), SVM(C, kernel="rbf", gamma=gamma)), strict=True):
        P, D = bounds(model.fit(X, y), C)
        gaps[name].append((P - D) / P)

fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for name, values in gaps.items():
    ax.loglog(Cs, np.maximum(values, 1e-12), "o-", label=name)
ax.axhline(1e-6, color="0.6", lw=0.8, ls="--")
ax.set(xlabel="C", ylabel="relative gap (P - D) / P", title="how far from the optimum, at most")
ax.legend(frameon=False)
plt.show()
