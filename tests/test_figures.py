"""Numbers of README and of the pages that compare are those of benchmarks/RESULTS.md.

A passage (a paragraph with the tables after it, an item of a list, or a row of a table) that names a script of benchmarks/ may hold only
numbers that the sections of that script hold; and on these pages a number with a point in it stands in such a passage. Code, links and
what is written in words are not looked at.
"""

import re
from pathlib import Path

import pytest
import sklearn
from sklearn.datasets import load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegressionCV
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
PAGES = ("README.md", "docs/comparison.md", "docs/guide/limits.md")
SCRIPT = re.compile(r"benchmarks/(\w+)\.py")
NUMBER = re.compile(r"(?<![\w.])-?(?:\d[\d,]*\d|\d)?(?:\.\d+)?(?:e[+-]?\d+)?(?![\d])")
NOT_PROSE = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)]*\)|^( {4}.*)$", re.MULTILINE | re.DOTALL)


def numbers(text):
    """Values of the numbers in a text, without their signs: a difference is often told in words."""
    found = [match[0].replace(",", "").lstrip("-") for match in NUMBER.finditer(text)]
    return {float(number) for number in found if any(c.isdigit() for c in number)}


def passages(text):
    """Paragraphs, each with the tables after it, items of lists, and rows of tables that name a script."""
    found = []
    for block in re.split(r"\n\s*\n", re.sub(r"(?ms)^```.*?^```", "", text)):
        lines = block.strip("\n").splitlines()
        if block.lstrip().startswith("|"):
            if any(SCRIPT.search(line) for line in lines):
                found += lines
            elif found:
                found[-1] += "\n" + block
        elif re.match(r"[-*] ", block):
            found += re.split(r"\n(?=[-*] )", block)
        elif lines:
            found.append(block)
    return found


def sections():
    """Numbers of the sections of every script; a section belongs to the script that was named last."""
    found, script = {}, None
    for body in re.findall(r"<!-- begin [\w-]+ -->(.*?)<!-- end", RESULTS.read_text("utf-8"), re.DOTALL):
        named = re.search(r"`python benchmarks/(\w+)\.py", body)
        script = named[1] if named else script
        if script:
            found.setdefault(script, set()).update(numbers(body))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_numbers_are_those_that_were_measured(page):
    measured, wrong = sections(), []
    for passage in passages((ROOT / page).read_text("utf-8")):
        scripts, prose = SCRIPT.findall(passage), NOT_PROSE.sub(" ", passage)
        known = set().union(*(measured[script] for script in scripts))
        unknown = numbers(prose) - known if scripts else {v for v in numbers(prose) if v != int(v)}
        if unknown:
            wrong.append(f"{sorted(unknown)} in: {passage.strip()[:120]}")
    assert not wrong, "\n".join(wrong)


def test_the_reader_finds_numbers_and_passages():
    told = "1,000 x 20, 3x to > 2921x, p = .002, 2e-08 or -0.42, hist_2, F1, v1.2.3"
    assert numbers(told) == {1000, 20, 3, 2921, 0.002, 2e-8, 0.42}
    text = "One 1\n(`benchmarks/a.py`):\n\n| 2 |\n\n- three\n  lines\n- four\n\n| `benchmarks/b.py` | 5 |\n| 6 |\n\n```\n7\n```\n"
    assert [len(numbers(NOT_PROSE.sub(" ", passage))) for passage in passages(text)] == [2, 0, 0, 1, 1]


@pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9),
    reason="the page lists the parameters of scikit-learn 1.9, and earlier versions have others",
)
@pytest.mark.filterwarnings("ignore::FutureWarning")  # of parameters that change with 1.10
@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(),
        SVC(kernel="linear"),
        LogisticRegressionCV(solver="liblinear"),
        SVR(kernel="linear"),
        LinearSVR(tol=10.0),
        KernelRidge(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_names_of_scikit_learn_are_its_own(estimator):
    """The table on the page of transitions has every parameter there is, and no other name."""
    text = (ROOT / "docs" / "coming_from.md").read_text("utf-8")
    table = re.search(rf"^\| {type(estimator).__name__} \|.*?\n\n", text, re.MULTILINE | re.DOTALL)[0]
    told = {word for row in table.splitlines()[2:] for word in re.findall(r"`([a-z]\w*)`", row.split(" | ")[0], re.I)}
    attributes = {word for word in told if word.endswith("_")}
    assert told - attributes - {"ConvergenceWarning"} == set(estimator.get_params())
    X, y = load_iris(return_X_y=True)
    estimator.fit(X[50:], y[50:])
    assert all(hasattr(estimator, word) for word in attributes)


def test_the_picture_of_readme_has_the_ranks_of_the_table():
    """Drawn by `python docs/_ext/charts.py`; the table is that of the sets on which nothing was chosen."""
    text = RESULTS.read_text("utf-8")
    section = text.partition("<!-- begin first-model-probabilities -->")[2]
    table = section.partition("sets on which nothing was chosen:")[2].partition("AutoSVM less")[0]
    ranks = {row[0].strip(): row[2].strip() for line in table.splitlines()[4:] if len(row := line.split("|")[1:]) > 2}
    drawn = re.findall(r"<text[^>]*>([^<]*)", (ROOT / "docs" / "figures" / "ranks.svg").read_text("utf-8"))
    assert len(ranks) == 9
    assert {*ranks, *ranks.values()} <= set(drawn)
