"""
A metric for nearest neighbours
===============================

``eta`` gives the learned metric full rank: whitening, with a stretch along the separators. Nearest neighbours in it, beside those in
standardised features and in whitened ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from radiusmargin import FSVM
from radiusmargin.plots.metric import MetricDisplay

maps = {
    "standardised": make_pipeline(StandardScaler()),
    "PCA whitening": make_pipeline(StandardScaler(), PCA(0.99, whiten=True)),
    "FSVM(eta=0.1)": make_pipeline(FSVM(C=0.1, eta=0.1)),
}
sets = {
    "wine": load_wine(return_X_y=True),
    "iris": load_iris(return_X_y=True),
    "breast cancer": load_breast_cancer(return_X_y=True),
}

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for k, (name, transformation) in enumerate(maps.items()):
    means = [
        100 * cross_val_score(make_pipeline(*transformation, KNeighborsClassifier(5)), *data).mean()
        for data in sets.values()
    ]
    bars = ax.bar(np.arange(len(sets)) + 0.27 * (k - 1), means, 0.25, label=name)
    ax.bar_label(bars, fmt="%.1f", fontsize=8)
ax.set(ylabel="accuracy in %, 5 folds", ylim=(80, 104))
ax.set_xticks(range(len(sets)), sets)
ax.legend(frameon=False, ncols=3, loc="upper center")
plt.show()

# %%
# How much of the metric lies in which direction:

MetricDisplay.from_estimator(FSVM(C=0.1, eta=0.1).fit(*sets["wine"]))
plt.show()
