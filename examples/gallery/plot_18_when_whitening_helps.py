"""
When F-SVM helps: signal in directions of little spread
=======================================================

F-SVM is the SVM on whitened features. That helps where features are strongly correlated, the classes differ in directions of
little spread, and there are several rows for every feature; where rows are few it hurts, for whitening enlarges what is only
noise in the scatter. Twonorm, seen through a map of condition 1,000 and untouched, says both.
"""

import matplotlib.pyplot as plt
import numpy as np

from radiusmargin import FSVMCV
from radiusmargin.paper.data import make_twonorm

N_FEATURES, N_TEST = 20, 2000
ROWS = (24, 40, 80, 160, 320)


def accuracies(n, hidden, seed):
    """Of the SVM and of F-SVM, with C by cross-validation."""
    rng = np.random.RandomState(seed)
    X, y = make_twonorm(n + N_TEST, N_FEATURES, random_state=rng)
    if hidden:
        rotation, turn = (np.linalg.qr(rng.standard_normal((N_FEATURES, N_FEATURES)))[0] for _ in range(2))
        X = X @ rotation @ (np.geomspace(1, 1e-3, N_FEATURES)[:, None] * turn)
    Cs = 2.0 ** np.arange(-10, 31, 2)
    models = [FSVMCV(Cs, whitening=p, scatter="total", combine="best", random_state=0) for p in (0.0, 1.0)]
    return [100 * model.fit(X[:n], y[:n]).score(X[n:], y[n:]) for model in models]


# %%
# Ten draws of every size.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for hidden, name in ((True, "behind a map of condition 1,000"), (False, "as it is")):
    found = np.array([[accuracies(n, hidden, seed) for seed in range(10)] for n in ROWS])
    gain = found[..., 1] - found[..., 0]
    ax.errorbar(np.array(ROWS) / N_FEATURES, gain.mean(axis=1), gain.std(axis=1) / np.sqrt(10), marker="o", label=name)
    print(name, gain.mean(axis=1).round(2))
ax.axhline(0, color="0.6", lw=1)
ax.set(xscale="log", xlabel="rows per feature", ylabel="F-SVM minus SVM, points of accuracy")
ax.set_xticks([n / N_FEATURES for n in ROWS], [f"{n / N_FEATURES:g}" for n in ROWS])
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()
