"""
The path, and how C is chosen
=============================

All values of C in one compiled call: separators along the path, and the cross-validated accuracy that ``FSVMCV`` chooses by.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from radiusmargin import FSVMCV
from radiusmargin.plots.selection import CVDisplay, PathDisplay
from radiusmargin.search import fsvm_path

data = load_breast_cancer()
X, y = data.data[:, :10], data.target

path = fsvm_path(X / X.std(axis=0), y, np.geomspace(1e-3, 1e3, 60), whitening=0)
PathDisplay.from_path(path)
plt.show()

# %%
# The band is one standard error around the best; what lies within it is averaged.

search = FSVMCV(Cs=20, whitening=(0, 0.5, 1), random_state=0).fit(X, y)
CVDisplay.from_estimator(search)
print(f"{len(search.members_)} of {len(search.cv_results_['params'])} members are averaged")
plt.show()
