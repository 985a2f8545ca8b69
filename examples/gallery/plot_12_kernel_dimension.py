"""
The paper's Figure 2: how many kernel components?
=================================================

Whitened, a kernel's features all count alike, so that their number becomes the regulariser of F-SVM. The SVM does not whiten and does
not mind.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import scale

from radiusmargin import FSVM, KernelMap
from radiusmargin.paper.data import make_waveform
from radiusmargin.plots.dimension import DimensionPathDisplay

X, y = make_waveform(200, random_state=0)
models = {"SVM": FSVM(C=1.0, whitening=0), "F-SVM": FSVM(C=0.03, whitening=1)}
dimensions = [2, 5, 10, 20, 40, 80, 130]

fig, ax = plt.subplots(figsize=(6.2, 4), layout="constrained")
display = DimensionPathDisplay.from_estimators(
    models, scale(X), y, dimensions, kernel_map=KernelMap("rbf", gamma=0.05), cv=4, ax=ax
)
plt.show()

# %%

print(np.array2string(display.table(), precision=3, suppress_small=True))
