"""
Numbers, categories and gaps in one table
=========================================

``AutoSVM`` takes a data frame as it is: texts become categories, dates become parts, gaps become medians. All of it is learned in
``fit``, so cross-validation around the model is fair.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.inspection import permutation_importance
from sklearn.model_selection import cross_val_score, train_test_split

from radiusmargin import AutoSVM

rng = np.random.default_rng(0)
n = 400
table = pd.DataFrame(
    {
        "plan": rng.choice(["basic", "family", "business"], size=n, p=[0.5, 0.3, 0.2]),
        "region": rng.choice(["north", "south", "east", "west"], size=n),
        "calls": rng.poisson(2.0, size=n),
        "age": rng.integers(18, 85, size=n),
        "since": pd.Timestamp(2022, 1, 1) + pd.to_timedelta(rng.integers(0, 900, size=n), unit="D"),
    }
)
usual = table["plan"].map({"basic": 20.0, "family": 45.0, "business": 70.0})
bill = usual * rng.lognormal(0.0, 0.25, size=n)
left = 3 * (bill / usual - 1) + 0.6 * (table["calls"] - 2) + 0.4 * rng.logistic(size=n) > 0.3  # dear for the plan
table["bill"] = bill.mask(rng.random(n) < 0.05)  # one in twenty is not known

# %%

model = AutoSVM(random_state=0)

train, test, left_train, left_test = train_test_split(table, left, random_state=0)
model.fit(train, left_train)
print(
    f"{model.score(test, left_test):.3f} right, gap {model.dual_gap_:.0e}, best kernel {model.best_params_['kernel']}"
)
print(model.predict_proba(test[:2]).round(2))

# %%
# What the columns became, and what the encoder decided:

print(model.encoder_.get_feature_names_out())
print(*model.encoder_.messages_, sep="\n")

# %%
# What the categories are worth, and which columns of the *table* matter: a column is shuffled before the model sees it.

scores = {
    "all columns": cross_val_score(model, table, left),
    "numbers only": cross_val_score(model, table.select_dtypes(np.number), left),
}
importance = permutation_importance(model, test, left_test, n_repeats=10, random_state=0)

fig, axes = plt.subplots(1, 2, figsize=(8.5, 2.8), layout="constrained")
for place, values in enumerate(scores.values()):
    error = values.std(ddof=1) / np.sqrt(len(values))
    axes[0].errorbar(100 * values.mean(), place, xerr=100 * error, fmt="o", capsize=3)
axes[0].set(title="accuracy in %, 5 folds", ylim=(-0.5, 1.5))
axes[0].set_yticks(range(2), list(scores))
order = np.argsort(importance.importances_mean)
axes[1].barh(table.columns[order], 100 * importance.importances_mean[order])
axes[1].set_title("points lost when a column is shuffled")
plt.show()
