"""
Unbalanced classes
==================

A class of 5 %, three ways: as it is, with ``class_weight="balanced"``, and with a threshold on probabilities. The last two move the
same boundary; which one is wanted is a question of costs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import balanced_accuracy_score, recall_score

from radiusmargin import FSVMCV

rng = np.random.default_rng(0)
rare = rng.random(1500) < 0.05
X = rng.normal(size=(1500, 2)) + np.outer(rare, [1.6, 1.2])
y = rare.astype(int)

plain = FSVMCV(probability=True, random_state=0).fit(X, y)
balanced = FSVMCV(class_weight="balanced", scoring="balanced_accuracy", random_state=0).fit(X, y)
answers = {
    "as it is": plain.predict(X),
    'class_weight="balanced"': balanced.predict(X),
    "probability > 5 %": (plain.predict_proba(X)[:, 1] > 0.05).astype(int),
}

# %%

fig, axes = plt.subplots(1, 3, figsize=(9, 3.3), sharex=True, sharey=True, layout="constrained")
for ax, (name, answer) in zip(axes, answers.items(), strict=True):
    ax.scatter(*X[~rare].T, s=6, c=np.where(answer[~rare], "tab:orange", "0.75"))
    ax.scatter(*X[rare].T, s=14, c=np.where(answer[rare], "tab:orange", "0.3"), edgecolors="black", linewidths=0.5)
    balance, found = balanced_accuracy_score(y, answer), recall_score(y, answer)
    ax.set_title(f"{name}\nfound {found:.0%}, balanced {balance:.0%}", fontsize=10)
    ax.set(xticks=[], yticks=[])
plt.show()
