"""
AutoSVM on two moons
====================

One call, no scaling, no grid. The search tries linear, Gaussian and Laplacian machines together and averages the best; the
background is the probability of the second class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from radiusmargin import AutoSVM

X, y = make_moons(200, noise=0.25, random_state=0)
model = AutoSVM(random_state=0).fit(X, y)

# %%
# What was averaged, and with which share:

for member in sorted(model.members_, key=lambda member: -member["weight"])[:5]:
    print(f"{member['kernel']:>16}  C = {member['C']:<8.3g} share {member['weight']:.2f}")

# %%

grid = np.stack(np.meshgrid(np.linspace(-2, 3, 150), np.linspace(-1.5, 2, 110)), axis=-1)
probability = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(grid.shape[:2])

fig, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
shade = ax.contourf(grid[..., 0], grid[..., 1], probability, np.linspace(0, 1, 21), cmap="RdBu", alpha=0.8)
ax.contour(grid[..., 0], grid[..., 1], probability, [0.5], colors="black", linewidths=1)
ax.scatter(*X.T, c=np.where(y, "#053061", "#67001f"), s=18, edgecolors="white", linewidths=0.7)
ax.set(xticks=[], yticks=[], title=f"held-out accuracy {model.oof_score_:.2f}, gap {model.dual_gap_:.0e}")
fig.colorbar(shade, ax=ax, label="probability of the blue class", ticks=[0, 0.5, 1])
plt.show()
