"""The page: nothing from the network, and a browser shows it."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest
from stubs import toy_plan

from radiusmargin.app.final import fit_final
from radiusmargin.app.model_page import model_page
from radiusmargin.paper import Spec, outputs, workflow
from radiusmargin.paper.diagnostics import search_portrait

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def page():
    spec, tasks, _ = toy_plan(models=("svm", "fsvm", "fsvm-tempered"), names=("a & b", "<i>c</i>"))
    outcome = workflow.run_experiment(spec, tasks, jobs=1)
    return outputs.report_html(outcome, title="A <title> & more")


class _Links(HTMLParser):
    """Every address that a browser would follow by itself or on a click, and the balance of the tags."""

    VOID = ("meta", "img", "br", "link", "hr")

    def __init__(self):
        super().__init__()
        self.links, self.images, self.open, self.ids = [], [], [], set()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.add(attrs.get("id"))
        self.links += [attrs[name] for name in ("src", "href", "data", "action") if name in attrs]
        if attrs.get("role") == "img":
            self.images.append(attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_needs_no_network(page):
    parser = _Links()
    parser.feed(page)
    assert parser.open == []
    assert all(link.startswith("#") for link in parser.links)
    assert all(link[1:] in parser.ids for link in parser.links if link.startswith("#"))
    assert not re.search(r"https?://|//cdn|@import|<script|<link|url\((?!#)", page)


def test_every_part_is_there(page):
    parser = _Links()
    parser.feed(page)
    for part in (
        "accuracy",
        "critical-difference",
        "time",
        "radius-and-margin",
        "learned-spectrum",
        "hyper-parameters",
    ):
        assert part in parser.ids
    assert len(parser.images) == 5
    assert all(image["aria-label"] for image in parser.images)


def test_the_page_opens_with_the_recommendation_and_a_picture(page):
    advice, picture, facts, table = (page.index(mark) for mark in ('class="advice"', "<svg", 'class="facts"', "<table"))
    assert advice < picture < facts < table


def test_figures_have_the_colours_of_the_page(page):
    """Ink that is set in the figure would be dark on a dark page."""
    figures = page[page.index("<svg") :]
    assert "var(--ink)" in figures
    assert "#1f2933" not in figures


def test_names_are_escaped(page):
    assert "A &lt;title&gt; &amp; more" in page
    assert "<i>c</i>" not in page


def searched(page):
    """The labels of the figures, and whether the words that explain a search are there."""
    parser = _Links()
    parser.feed(page)
    assert parser.open == []
    return [image["aria-label"] for image in parser.images if "tried" in image["aria-label"]]


def test_the_page_shows_what_the_recommended_search_tried():
    spec, tasks, _ = toy_plan(models=("dummy", "auto"), names=("own",))
    page = outputs.report_html(workflow.run_experiment(spec, tasks, jobs=1))
    assert searched(page) == ["What AutoSVM tried: scores by C and kernel"]
    assert "On the training rows of the first split." in page


@pytest.mark.parametrize(("model", "pictures"), [("auto", 1), ("fsvm-cv", 1), ("svm", 0), ("logistic", 0)])
def test_the_page_of_a_fit(model, pictures):
    """What was tried is there if it was a search of ours, and every member that was averaged."""
    _, tasks, _ = toy_plan(models=("svm",), names=("a & b",))
    bundle = fit_final(tasks["a & b"], model, spec=Spec("fit", inner_folds=2, budget=1))
    page = model_page(bundle)
    assert len(searched(page)) == pictures
    assert "on a &amp; b</h1>" in page
    assert ("above the optimum, proven" in page) == (model != "logistic")
    if pictures:
        search = search_portrait(bundle.pipeline)
        weights = page.partition('id="what-was-averaged"')[2].partition("</section>")[0].count("%")
        assert weights == min(len(search["members"]), 30) > 0
        assert np.isclose(sum(member["weight"] for member in search["members"]), 1)
        scores = dict(zip(map(str, search["params"]), search["scores"], strict=True))
        assert scores[str(search["best"])] == max(scores.values())


@pytest.mark.skipif(
    BROWSER is None, reason="the picture is taken by chromium, which is not installed; the page itself is tested above"
)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 500], ids=["desktop", "phone"])  # no window of chromium is narrower
def test_a_browser_shows_the_page(page, tmp_path, width, dark):
    path, picture = tmp_path / "report.html", tmp_path / "report.png"
    told = "<script>document.title = document.documentElement.scrollWidth</script></body>"
    path.write_text(page.replace("</body>", told), encoding="utf-8")
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]
    # no host can be resolved: whatever the page would fetch fails
    flags += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--window-size={width},2400", *["--force-dark-mode"] * dark]
    flags += ["--blink-settings=preferredColorScheme=0"] if dark else []

    def opened(*more):
        return subprocess.run([BROWSER, *flags, *more, path.as_uri()], capture_output=True, text=True, timeout=120)

    run = opened(f"--screenshot={picture}")
    assert picture.exists(), run.stderr[-2000:]
    from matplotlib.image import imread

    pixels = imread(picture)[..., :3]
    assert pixels.shape[:2] == (2400, width)
    paper = np.median(pixels.reshape(-1, 3), axis=0)
    assert (paper.max() < 0.2) if dark else (paper.min() > 0.9)
    ink = (np.abs(pixels - paper) > 0.1).any(axis=-1).mean()
    assert 0.01 < ink < 0.6
    assert (pixels.max(axis=-1) - pixels.min(axis=-1) > 0.3).any()  # the figures, in colour
    document = opened("--dump-dom").stdout
    assert int(re.search(r"<title>(\d+)</title>", document)[1]) <= width  # nothing sticks out of the page
