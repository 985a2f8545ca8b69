"""The page of one fitted model: what it is, what was tried, what was averaged, and the proof."""

from __future__ import annotations

from ..paper.diagnostics import search_portrait
from ..paper.outputs import search_section
from ..paper.tables import Table, TableCell, to_html
from .model_file import Bundle

__all__ = ["model_page"]

#: Members and columns beyond so many are counted, not listed.
MOST_ROWS = 30


def model_page(bundle: Bundle) -> str:
    """HTML of a model file made by `fit_final`."""
    from ..paper.page import Section, render_report

    facts, search = bundle.facts, search_portrait(bundle.pipeline)
    averaged = [] if search is None else [Section("What was averaged", table=to_html(_members(search["members"])))]
    sections = [
        *averaged,
        Section("Columns", table=to_html(_columns(facts))),
        *(
            [Section("Classes", table=to_html(_listed(("class", "rows"), list(facts["classes"].items()))))]
            if "classes" in facts
            else []
        ),
    ]
    provenance = facts["provenance"]
    return render_report(
        f"{facts['name']} on {facts['table']}",
        subtitle=f"Chosen by {facts['chosen_by']}.",
        facts=_numbers(facts),
        advice=[_proof(facts["certificate"])],
        picture=None if search is None else search_section(search, "What was tried"),
        sections=sections,
        footer=[
            *facts["messages"],
            f"{provenance['time']}, radiusmargin {provenance['versions']['radiusmargin']}, data {facts['data']}",
        ],
    )


def _numbers(facts):
    gap, of_all = facts["certificate"].get("dual_gap"), facts.get("out_of_fold_score")
    return [
        (f"{facts['rows']:,}", "rows"),
        (str(len(facts["columns"])), "columns"),
        (
            f"{facts['cross_validated_score']:.3f}",
            f"best cross-validated {facts.get('scoring', 'score').replace('_', ' ')}, too high",
        ),
        *([(f"{of_all:.3f}", "score of the average, out of fold")] if of_all is not None else []),
        *([(f"{gap:.0e}", "relative gap, proven")] if gap is not None else []),
    ]


def _proof(certificate) -> str:
    if not certificate:
        return "This is scikit-learn's model: it does not say how far from its optimum it stopped."
    return (
        f"The fit is at most {certificate['dual_gap']:.1e} of its objective above the optimum, proven ({certificate['max_dual_gap']:.1e} for the worst of its problems). That other members would not do better"
        " on new rows is what cross-validation says, not the proof: its best score is the largest of many, and so too high; that of the average on held-out rows is less so."
    )


def _listed(header, entries) -> Table:
    """The first entries, each a row of texts, and how many there are more."""
    more = len(entries) - MOST_ROWS
    rows = [[TableCell(str(text)) for text in entry] for entry in entries[:MOST_ROWS]]
    return Table("", header, rows, notes=(f"and {more} more",) if more > 0 else ())


def _columns(facts) -> Table:
    kinds = facts["kinds"] or dict.fromkeys(facts["columns"], "number")
    return _listed(("column", "read as"), list(kinds.items()))


def _members(members) -> Table:
    names = ("C", "whitening", "gamma")
    shown = sorted(members, key=lambda member: -member["weight"])
    entries = [(m["kernel"], *(_text(m.get(name)) for name in names), f"{m['weight']:.1%}") for m in shown]
    return _listed(("kind", *names, "weight"), entries)


def _text(value) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{float(f'{value:.3g}'):g}"
