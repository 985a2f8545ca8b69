"""Which package is this piece of code from? Text in five lines, on files that every Python has.

python examples/text.py
"""

from __future__ import annotations

import sysconfig
from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from radiusmargin import FSVMCV

PACKAGES = "asyncio", "email", "encodings", "idlelib", "lib2to3", "tkinter", "unittest", "xml"


def pieces(lines=30):
    """(texts, packages): files of the standard library, cut into pieces."""
    texts, packages = [], []
    for package in PACKAGES:
        for path in sorted((Path(sysconfig.get_path("stdlib")) / package).rglob("*.py")):
            text = path.read_text(errors="ignore").splitlines()
            found = ["\n".join(text[i : i + lines]) for i in range(0, len(text), lines)]
            texts += found
            packages += [package] * len(found)
    return texts, packages


if __name__ == "__main__":
    train, test, y_train, y_test = train_test_split(*pieces(), random_state=0)
    model = make_pipeline(TfidfVectorizer(sublinear_tf=True), FSVMCV()).fit(train, y_train)
    print(f"{len(train)} pieces, {model[0].idf_.size} words, {len(model.classes_)} packages")
    print(f"accuracy {model.score(test, y_test):.3f}, relative gap {model[1].dual_gap_:.1e}, {model[1].best_params_}")
