"""
From the SVM to F-SVM
=====================

One exponent leads from the SVM on standardised features (0) to F-SVM (1), which is the SVM on whitened data. Where features are
strongly correlated and classes differ along the thin direction, whitening finds it with fewer rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from radiusmargin import FSVM


def strip(n, rng):
    """Two classes side by side in a long, thin cloud of eight features."""
    y = rng.choice([-1, 1], size=n)
    Z = rng.normal(size=(n, 8)) * np.array([10.0, 5.0, 3.0, 2.0, 1.0, 1.0, 0.5, 0.2])
    Z[:, -1] += 0.2 * y
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
    return Z @ rotation, y


rng = np.random.default_rng(0)
X_test, y_test = strip(4000, rng)
sizes, exponents = (30, 60, 120, 250, 500, 1000), (0.0, 0.25, 0.5, 0.75, 1.0)
scores = np.zeros((len(sizes), len(exponents), 20))
for i, n in enumerate(sizes):
    for r in range(scores.shape[2]):
        X, y = strip(n, rng)
        for j, p in enumerate(exponents):
            scores[i, j, r] = FSVM(C=0.1, whitening=p).fit(X, y).score(X_test, y_test)

# %%

fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
colours = plt.cm.viridis(np.linspace(0, 0.9, len(exponents)))
for j, (p, colour) in enumerate(zip(exponents, colours, strict=True)):
    ax.semilogx(sizes, 100 * scores[:, j].mean(axis=-1), "o-", color=colour, label=f"whitening {p:g}")
ax.set(xlabel="training rows", ylabel="accuracy in %", xticks=sizes, xticklabels=sizes)
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()
