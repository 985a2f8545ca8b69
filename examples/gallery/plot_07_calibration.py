"""
Are the probabilities right?
============================

`AutoSVM` fits a sigmoid to the scores of rows that the search had held out. Of all rows said to be positive with 70 %,
70 % should be; the curve says whether they are, and the bars how often which probability is given.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import log_loss

from radiusmargin import AutoSVM

rng = np.random.default_rng(0)
X = rng.normal(size=(5000, 4))
truth = 1 / (1 + np.exp(-1.5 * ((X**2).sum(axis=1) - 4)))  # labels are drawn with these probabilities
y = (rng.random(len(X)) < truth).astype(int)
train = np.arange(len(y)) < 400

model = AutoSVM(random_state=0).fit(X[train], y[train])
probability = model.predict_proba(X[~train])[:, 1]
said, seen = calibration_curve(y[~train], probability, n_bins=10, strategy="quantile")
for name, given in {
    "AutoSVM": probability,
    "the truth": truth[~train],
    "guessing": np.full(len(probability), 0.5),
}.items():
    print(f"log-loss of {name}: {log_loss(y[~train], given):.3f}")

# %%

fig, (ax, below) = plt.subplots(2, figsize=(5.5, 6), height_ratios=(3, 1), sharex=True, layout="constrained")
ax.plot([0, 1], [0, 1], "--", color="0.6", label="as it should be")
ax.plot(said, seen, "o-", label="AutoSVM")
ax.set(ylabel="share of positives")
ax.legend(frameon=False)
below.hist(probability, bins=30, color="tab:blue", alpha=0.7)
below.set(xlabel="probability given", ylabel="rows")
plt.show()
