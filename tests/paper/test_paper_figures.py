"""Tables and figures as files, and all of them in one page."""

import xml.etree.ElementTree as ET

import pytest
from stubs import toy_plan

from radiusmargin.app.cli import main
from radiusmargin.app.commands import reproduce
from radiusmargin.paper import figures, workflow


def is_picture(path):
    if path.suffix == ".png":
        return path.read_bytes().startswith(b"\x89PNG")
    return ET.fromstring(path.read_text(encoding="utf-8")).tag.endswith("svg")


@pytest.mark.parametrize(("make", "name"), [(figures.figure1, "figure1"), (figures.map_figure, "maps")])
def test_figures_are_written_as_png_and_svg(tmp_path, make, name):
    item = make("sklearn/iris")
    paths = figures.save_figures(item, tmp_path)
    assert [path.name for path in paths] == [f"{name}.png", f"{name}.svg"]
    assert all(map(is_picture, paths))


def test_figure_1_shows_the_alternation_and_where_it_leads():
    """The ratio is smaller in every learned metric; it need not fall from turn to turn, for the objective has slacks too."""
    item = figures.figure1("builtin/twonorm")
    ratio = {row["metric"]: row["ratio"] for row in item.table.data}
    assert list(ratio)[:4] == ["SVM, standardised features", "semi-whitened start", "after one turn", "after 10 turns"]
    assert all(
        value < ratio["SVM, standardised features"]
        for name, value in ratio.items()
        if "turn" in name or "F-SVM" in name
    )
    assert len(item.figures["figure1"].axes) == len(ratio)


def test_figure_2_has_a_panel_for_every_set(tmp_path):
    spec, tasks, _ = toy_plan(names=("a", "b"), kernel="rbf", components=(2, 5), splits="folds")
    item = figures.from_outcome(workflow.run_experiment(spec, tasks, jobs=1))
    assert [axis.get_title(loc="left") for axis in item.figures["toy"].axes] == ["a", "b"]
    assert all(map(is_picture, figures.save_figures(item, tmp_path)))


def test_table_1_has_the_sizes_of_the_paper_and_those_found():
    table = figures.table1().table
    rows = {row["set"]: row for row in table.data}
    assert len(rows) == 11
    assert rows["splice"] == {
        "set": "splice",
        "paper": "3,190 x 60, 3",
        "uci": "3,190 x 287, 3",
        "ida": "3,175 x 60, 2",
    }


def test_every_name_can_be_made():
    from radiusmargin.paper import builtin_specs, whole

    known = {*figures.PICTURES, *builtin_specs()}
    assert {*reproduce.TABLES, *whole.PAPER, *whole.BEYOND} <= known


def test_a_figure_of_ones_own_set(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "figure1", "--datasets", "sklearn/iris", "--out", "out"]) == 0
    assert "radius and margin on sklearn/iris" in capsys.readouterr().out
