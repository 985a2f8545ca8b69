"""
Text: which library is this from?
=================================

Docstrings of NumPy, SciPy and scikit-learn as sparse rows of words: a real collection that everybody has. The matrix stays sparse;
the heaviest words of every separator are its explanation.
"""

import inspect
import re
from importlib import import_module

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

from radiusmargin import SVM

PACKAGES = {
    "numpy": ("numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.polynomial", "numpy.ma"),
    "scipy": ("scipy.linalg", "scipy.optimize", "scipy.signal", "scipy.sparse", "scipy.special", "scipy.ndimage"),
    "sklearn": ("sklearn.linear_model", "sklearn.metrics", "sklearn.cluster", "sklearn.preprocessing", "sklearn.svm"),
}


def docstrings(module):
    """Of all public functions and classes, without the names that would give them away."""
    members = (getattr(module, name) for name in dir(module) if not name.startswith("_"))
    texts = {inspect.getdoc(member) for member in members if callable(member)}
    return [re.sub(r"numpy|scipy|sklearn|scikit|\bnp\b", " ", text) for text in texts if text and len(text) > 200]


texts, labels = [], []
for library, modules in PACKAGES.items():
    for name in modules:
        found = docstrings(import_module(name))
        texts += found
        labels += [library] * len(found)

# %%

words = TfidfVectorizer(sublinear_tf=True, min_df=3, token_pattern=r"[a-z]{3,}")
train, test, y_train, y_test = train_test_split(texts, labels, random_state=0, stratify=labels)
X = words.fit_transform(train)
model = SVM(C=10.0).fit(X, y_train)
print(f"{X.shape[0]} texts, {X.shape[1]} words, {X.nnz / X.shape[0]:.0f} in a text; gap {model.dual_gap_:.0e}")
print(f"accuracy on {len(test)} others: {model.score(words.transform(test), y_test):.3f}")

# %%

names = words.get_feature_names_out()
pairs = [(a, b) for i, a in enumerate(model.classes_) for b in model.classes_[i + 1 :]]
fig, axes = plt.subplots(1, 3, figsize=(9, 4), layout="constrained")
for ax, (a, b), weights in zip(axes, pairs, model.coef_, strict=True):
    order = np.argsort(weights)
    shown = np.concatenate([order[:7], order[-7:]])
    ax.barh(range(14), weights[shown], color=np.where(weights[shown] < 0, "tab:orange", "tab:blue"))
    ax.set_yticks(range(14), names[shown])
    ax.set_title(f"{a} | {b}")
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
