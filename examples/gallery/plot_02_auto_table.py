"""
AutoSVM on real tables
======================

Beside a random forest and a tuned ``SVC``, on two sets that ship with scikit-learn. Two sets prove nothing: the benchmarks page has
what was measured on many.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from radiusmargin import AutoSVM

models = {
    "AutoSVM()": AutoSVM(random_state=0),
    "random forest": RandomForestClassifier(200, random_state=0),
    "SVC, grid search": GridSearchCV(
        make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.1, 1, 10, 100], "svc__gamma": [0.003, 0.01, 0.03, 0.1]}
    ),
}
sets = {"wine": load_wine(return_X_y=True), "breast cancer": load_breast_cancer(return_X_y=True)}

# %%

fig, axes = plt.subplots(1, 2, figsize=(8, 2.6), sharey=True, layout="constrained")
for ax, (name, (X, y)) in zip(axes, sets.items(), strict=True):
    for place, model in enumerate(reversed(models.values())):
        scores = 100 * cross_val_score(model, X, y, cv=5)
        error = scores.std(ddof=1) / np.sqrt(len(scores))
        ax.errorbar(scores.mean(), place, xerr=error, fmt="o", color=f"C{place}", capsize=3)
        ax.annotate(f"{scores.mean():.1f}", (scores.mean(), place), (0, 7), textcoords="offset points", ha="center")
    ax.set(title=name, xlabel="accuracy in %, 5 folds", ylim=(-0.5, 2.7))
axes[0].set_yticks(range(3), list(reversed(models)))
plt.show()
