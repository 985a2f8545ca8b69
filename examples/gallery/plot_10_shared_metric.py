"""
One metric for all classes: maps in two dimensions
==================================================

``coupling="shared"`` learns one metric for all classes. The nuclear norm in it makes its rank small, so that the first two directions
of ``transform`` are a supervised map of the data.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import scale

from radiusmargin import FSVM

data = load_wine()
X, y = scale(data.data), data.target
maps = {
    "PCA": PCA(2),
    "LDA": LinearDiscriminantAnalysis(n_components=2),
    'FSVM(coupling="shared")': FSVM(C=0.1, whitening=0.5, coupling="shared"),
}

# %%

fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.4), layout="constrained")
for ax, (name, transformation) in zip(axes, maps.items(), strict=True):
    Z = transformation.fit(X, y).transform(X)
    ax.scatter(Z[:, 0], Z[:, 1], c=y, cmap="viridis", s=9)
    ax.set(title=name, xticks=[], yticks=[])
print("rank of the learned metric:", len(transformation.components_), "of", X.shape[1])
plt.show()
