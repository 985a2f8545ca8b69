"""
Pairs: the same person or not?
==============================

Verification as in Labeled Faces in the Wild, on generated people: features of pairs, a verifier for every fold, and the ROC curve of
all of them.
"""

import matplotlib.pyplot as plt

from radiusmargin.paper.faces import LDML, PairFeatures, PairVerifier, cross_verify, make_pairs

task = make_pairs(n_people=200, noise=0.8, random_state=0)
verifiers = {
    "SVM, |a - b| and ab": PairVerifier("svm"),
    "F-SVM, |a - b| and ab": PairVerifier("fsvm"),
    "SVM, learned similarity": PairVerifier("svm", features=PairFeatures("metric", n_components=15)),
    "LDML": PairVerifier(LDML(), features="signed"),
}

fig, ax = plt.subplots(figsize=(5.5, 4.6), layout="constrained")
for name, verifier in verifiers.items():
    result = cross_verify(verifier, task)
    ax.plot(result.roc.fpr, result.roc.tpr, label=f"{name}: {result.accuracy:.1%}")
ax.plot([0, 1], [1, 0], color="0.8", lw=0.8)
ax.set(xlabel="pairs of two people accepted", ylabel="pairs of one person accepted", xlim=(0, 0.6), ylim=(0.4, 1))
ax.legend(frameon=False, loc="lower right")
plt.show()
