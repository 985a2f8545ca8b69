"""Members that share a kernel map have the features that each would have alone."""

import numpy as np
import pytest

from radiusmargin import FSVM, FSVMCV
from radiusmargin.selection.features import feature_sets

POWERS = (0.5, 0.25, 1.0)


@pytest.mark.parametrize(
    ("n", "gamma", "engine"), [(120, 0.3, "exact"), (520, 0.3, "landmarks"), (520, 1e-3, "cholesky")]
)
def test_exponents_share_a_map(n, gamma, engine):
    X = np.random.default_rng(0).normal(size=(n, 6))
    weight = np.random.default_rng(1).uniform(0.5, 2.0, n)
    search = FSVMCV(kernel="rbf", gamma=gamma, whitening=POWERS)
    (shared,) = feature_sets(search)
    whole, unseen = shared.fit(search, X, weight), X[:20] + 0.1
    assert whole.mapping.engine_ == engine
    widths = []
    for n_components, powers in shared.parts:
        part = whole.part(n_components, powers)
        alone = FSVM(kernel="rbf", gamma=gamma, whitening=powers[0])._make_kernel_map()
        np.testing.assert_array_equal(part.rows, alone.fit_features(X, weight))
        np.testing.assert_allclose(part.of(unseen)[:, : part.rows.shape[1]], alone.transform(unseen), atol=1e-12)
        widths.append(part.rows.shape[1])
    assert sorted(POWERS) == [powers[0] for _, powers in shared.parts]
    assert widths == sorted(widths, reverse=True)
