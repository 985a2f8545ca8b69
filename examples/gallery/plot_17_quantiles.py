"""
Quantiles of a target whose spread varies
=========================================

``QuantileSVR`` fits several conditional quantiles at once: here the median and the ends of an interval for nine rows in ten. Its
width follows the noise, which grows along the axis. ``SVR`` with ``epsilon=0`` is the median alone.
"""

import matplotlib.pyplot as plt
import numpy as np

from radiusmargin import QuantileSVR

rng = np.random.default_rng(0)


def sample(n):
    x = rng.uniform(0, 10, size=n)
    return x[:, None], np.sin(x) + (0.05 + 0.08 * x) * rng.normal(size=n)


X, y = sample(400)
model = QuantileSVR(quantile=[0.05, 0.5, 0.95], C=3.0, gamma=0.2).fit(X, y)

# %%
# The interval on rows that were not seen, and what the fit proves.

X_new, y_new = sample(5000)
low, _, high = model.predict(X_new).T
inside = np.mean((low <= y_new) & (y_new <= high))
print(
    f"inside: {inside:.1%}; curves crossed on {model.crossing_:.1%} of the training rows; largest gap {model.max_dual_gap_:.1e}"
)

# %%

grid = np.linspace(0, 10, 300)[:, None]
low, median, high = model.predict(grid).T
figure, axes = plt.subplots(figsize=(7, 4))
axes.scatter(X[:, 0], y, s=8, color="0.6", label="rows")
axes.fill_between(grid[:, 0], low, high, alpha=0.25, label="5 % to 95 %")
axes.plot(grid[:, 0], median, label="median")
axes.set(xlabel="x", ylabel="target")
axes.legend(frameon=False)
plt.show()
