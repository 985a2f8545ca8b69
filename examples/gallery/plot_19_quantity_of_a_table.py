"""
A price from categories, numbers and gaps
=========================================

A data frame goes into ``AutoSVR`` as it is. Which columns decide is asked of the fitted model.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.inspection import permutation_importance

from radiusmargin import AutoSVR

rng = np.random.default_rng(0)
n = 500
table = pd.DataFrame(
    {
        "area": rng.gamma(4.0, 25.0, size=n),
        "district": rng.choice(["old town", "harbour", "hills", "suburb"], size=n),
        "year": rng.integers(1890, 2024, size=n),
        "floor": rng.integers(0, 6, size=n),
    }
)
factor = table["district"].map({"old town": 1.3, "harbour": 1.1, "hills": 1.5, "suburb": 0.8})
price = (
    3000 * table["area"] ** 0.9 * factor * (1 + 0.002 * (table["year"] - 1950).abs()) * rng.lognormal(0, 0.15, size=n)
)
table["year"] = table["year"].mask(rng.random(n) < 0.1)  # one in ten is not known

train, test = table[:300], table[300:]
model = AutoSVR().fit(train, price[:300])
boosting = HistGradientBoostingRegressor(categorical_features="from_dtype").fit(
    train.astype({"district": "category"}), price[:300]
)
print(
    f"R2 of AutoSVR {model.score(test, price[300:]):.3f}, "
    f"of boosting {boosting.score(test.astype({'district': 'category'}), price[300:]):.3f}"
)

# %%
# Predicted against true prices with 80 % intervals, and the loss of R2 if a column is shuffled:

importance = permutation_importance(model, test, price[300:], n_repeats=5, random_state=0)
predicted, (low, high) = model.predict(test), model.prediction_interval(test, coverage=0.8).T
fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.2), layout="constrained")
axes[0].vlines(predicted / 1e3, low / 1e3, high / 1e3, alpha=0.2)
axes[0].plot(predicted / 1e3, price[300:] / 1e3, "k.", markersize=3)
axes[0].axline((0, 0), slope=1, color="grey")
axes[0].set(xlabel="predicted, thousands", ylabel="true, thousands")
axes[1].barh(table.columns, importance.importances_mean)
axes[1].set(xlabel="loss of R2 when shuffled")
plt.show()
