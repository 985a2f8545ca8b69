"""
Intervals on a curve
====================

``AutoSVR`` predicts a quantity. Its leave-one-out residuals give intervals without further fits. Where the noise grows with the
target, a power scale is chosen, and the intervals grow with it.
"""

import matplotlib.pyplot as plt
import numpy as np

from radiusmargin import AutoSVR

rng = np.random.default_rng(0)
x = rng.uniform(0, 10, 300)
y = np.exp(1 + 0.5 * np.sin(x) + 0.1 * x + 0.2 * rng.normal(size=300))

model = AutoSVR().fit(x[:200, None], y[:200])
print(f"held-out R2 {model.oof_score_:.2f}, power of the scale {model.powers_[0]:.2f}")

# %%
# Nine of ten new rows should be inside:

low, high = model.prediction_interval(x[200:, None], coverage=0.9).T
print(f"{((low <= y[200:]) & (y[200:] <= high)).mean():.2f} inside")

grid = np.linspace(0, 10, 300)[:, None]
low, middle, high = model.predict(grid, quantiles=[0.05, 0.5, 0.95]).T
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.fill_between(grid[:, 0], low, high, alpha=0.3, label="90 % interval")
ax.plot(grid, middle, label="median")
ax.plot(grid, model.predict(grid), "--", label="mean")
ax.plot(x[:200], y[:200], "k.", markersize=3)
ax.set(xlabel="x", ylabel="y")
ax.legend()
plt.show()
