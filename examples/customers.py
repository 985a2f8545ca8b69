"""Write a table as strangers write them, for the demo: ``customers.py FOLDER``.

Semicolons, decimal commas, dates, a category, gaps, a customer number: ``customers.csv`` has who left, ``new.csv`` does not.

Customers leave when their bill does not match their plan, be it too large or too small for it, when they call often, and while the
contract is young. Something in the middle that is best is what kernels are for; here the other columns say nearly as much, and several
models are level. Where single thresholds decide, or most columns are irrelevant, trees are the ones to take.
"""

import sys
from pathlib import Path

import numpy as np

NAMES = "customer;since;plan;calls;bill;age;left"


def rows(n, rng):
    """Customers leave when bills do not match their plan, calls are many, and the contract is young."""
    since = np.datetime64("2016-01-01") + rng.integers(0, 8 * 365, size=n)
    plan = rng.choice(["basic", "family", "business"], size=n, p=[0.5, 0.3, 0.2])
    calls = rng.poisson(2.0, size=n)
    bill = np.select([plan == "basic", plan == "family"], [20.0, 45.0], 70.0) * rng.lognormal(0.0, 0.4, size=n)
    age = rng.integers(18, 85, size=n)
    years = (np.datetime64("2024-01-01") - since).astype(float) / 365
    burden = bill / np.select([plan == "basic", plan == "family"], [20.0, 45.0], 70.0)
    mismatch = np.log(burden) / 0.4
    left = mismatch**2 + 0.5 * (calls - 2) - 0.4 * (years - 4) + 0.6 * rng.logistic(size=n) > 1.0
    for i in range(n):
        paid = "" if rng.random() < 0.05 else f"{bill[i]:.2f}".replace(".", ",")
        day = since[i].astype("datetime64[D]").item().strftime("%d.%m.%Y")
        yield f"K{100000 + i};{day};{plan[i]};{calls[i]};{paid};{age[i]};{'yes' if left[i] else 'no'}"


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    (folder / "customers.csv").write_text("\n".join([NAMES, *rows(400, rng)]) + "\n", encoding="utf-8")
    unlabelled = [line.rpartition(";")[0] for line in [NAMES, *rows(40, rng)]]
    (folder / "new.csv").write_text("\n".join(unlabelled) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
