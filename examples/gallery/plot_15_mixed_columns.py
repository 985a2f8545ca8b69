"""
Numbers, categories and gaps in one table
=========================================

Estimators take numbers. scikit-learn's ``ColumnTransformer`` makes them of a data frame, inside the pipeline, so that everything is
learnt on training rows; ``AutoSVM`` does the scaling itself. One thing to know: one-hot columns should be dense
(``sparse_output=False``), for a sparse matrix gets the linear kind alone.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from radiusmargin import AutoSVM

rng = np.random.default_rng(0)
n = 400
table = pd.DataFrame(
    {
        "plan": rng.choice(["basic", "family", "business"], size=n, p=[0.5, 0.3, 0.2]),
        "region": rng.choice(["north", "south", "east", "west"], size=n),
        "calls": rng.poisson(2.0, size=n),
        "age": rng.integers(18, 85, size=n),
    }
)
usual = table["plan"].map({"basic": 20.0, "family": 45.0, "business": 70.0})
bill = usual * rng.lognormal(0.0, 0.25, size=n)
left = 3 * (bill / usual - 1) + 0.6 * (table["calls"] - 2) + 0.4 * rng.logistic(size=n) > 0.3  # dear for the plan
table["bill"] = bill.mask(rng.random(n) < 0.05)  # one in twenty is not known

# %%

columns = make_column_transformer(
    (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), make_column_selector(dtype_exclude=np.number)),
    remainder=SimpleImputer(strategy="median"),
)
model = make_pipeline(columns, AutoSVM(probability=True, random_state=0))

train, test, left_train, left_test = train_test_split(table, left, random_state=0)
model.fit(train, left_train)
search = model[-1]
print(
    f"{model.score(test, left_test):.3f} right, gap {search.dual_gap_:.0e}, best kind {search.best_params_['kernel']}"
)
print(model.predict_proba(test[:2]).round(2))

# %%
# What the categories are worth, and which columns of the *table* matter: a column is shuffled before the pipeline sees it.

numbers = make_pipeline(SimpleImputer(strategy="median"), AutoSVM(random_state=0))
scores = {
    "all columns": cross_val_score(model, table, left),
    "numbers only": cross_val_score(numbers, table.select_dtypes(np.number), left),
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
