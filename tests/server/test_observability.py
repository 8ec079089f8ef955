"""The dashboard and the alert rules in docs/ speak of what a running server exports."""

from __future__ import annotations

import json
import pathlib
import re
import threading
import urllib.request
from collections import defaultdict
from typing import Any

import promql_parser as promql
import pytest
import yaml
from client import Client
from conftest import ROOT, Served

DASHBOARD = ROOT / "docs" / "grafana" / "paddlegate.json"
ALERTS = ROOT / "docs" / "prometheus" / "alerts.yml"

# What Prometheus itself adds to each sample.
OF_PROMETHEUS = {"instance", "job"}

Exported = dict[str, dict[str, set[str]]]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """The metrics of a server with traffic: by name, the values of each label."""
    path: pathlib.Path = tmp_path_factory.mktemp("limits") / "limits.json"
    limits = {
        "api": {"bucket": {"limit": 3, "per": "day"}},
        "workers": {"concurrency": {"limit": 1, "lock_timeout": "1h"}},
    }
    path.write_text(json.dumps({"limiters": limits}))
    server = Served("--limits", str(path))
    client = Client(server.url)
    for _ in range(4):
        client.acquire("api")
    client.override("api", limit=2)
    held = client.acquire("workers")
    waiting = threading.Thread(target=lambda: client.acquire("workers", wait_timeout=60))
    waiting.start()
    while client.inspect("workers")["ticket_count"] == 0:
        pass
    client.release("workers", permit=held["permit"])
    waiting.join(60)
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=60) as response:
        text = response.read().decode()
    assert server.stop() == 0
    found: Exported = defaultdict(lambda: defaultdict(set))
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        sample = re.fullmatch(r"(\w+)(?:\{(.*)\})? \S+", line)
        assert sample is not None, line
        labels = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', sample[2] or "")
        found[sample[1]]
        for label, value in labels:
            found[sample[1]][label].add(value)
    return found


def expressions() -> list[tuple[str, str]]:
    """All expressions of both files, each with its place."""
    dashboard = json.loads(DASHBOARD.read_text())
    shown = [
        (f"{panel['title']} {target['refId']}", target["expr"])
        for panel in dashboard["panels"]
        for target in panel["targets"]
    ]
    rules = yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]
    return shown + [(rule["alert"], rule["expr"]) for rule in rules]


def parsed(text: str) -> Any:
    """Parse an expression whose variables of Grafana are replaced as Grafana does."""
    return promql.parse(text.replace("$__rate_interval", "5m").replace("$limiter", ".*"))


def labels_of(node: Any, exported: Exported, place: str) -> set[str]:
    """Check all selectors below a node, and return the labels that its result has."""
    if isinstance(node, promql.VectorSelector | promql.MatrixSelector):
        selector = node.vector_selector if isinstance(node, promql.MatrixSelector) else node
        assert selector.name in exported, f"{place}: no server exports {selector.name}"
        labels = exported[selector.name]
        for matcher in selector.matchers.matchers:
            assert matcher.name in labels, f"{place}: {selector.name} has no label {matcher.name}"
            wanted = (
                matcher.value.split("|") if matcher.op == promql.MatchOp.Re else [matcher.value]
            )
            for value in wanted:
                assert value == ".*" or value in labels[matcher.name], f"{place}: {value}"
        return set(labels) | OF_PROMETHEUS
    if isinstance(node, promql.AggregateExpr):
        below = labels_of(node.expr, exported, place)
        grouped = set(node.modifier.labels) if node.modifier else set()
        assert grouped <= below, f"{place}: nothing has the labels {grouped - below}"
        return grouped
    if isinstance(node, promql.BinaryExpr):
        sides = [labels_of(side, exported, place) for side in (node.lhs, node.rhs)]
        if all(not isinstance(side, promql.NumberLiteral) for side in (node.lhs, node.rhs)) and all(
            sides
        ):
            assert sides[0] == sides[1], f"{place}: the sides match no labels {sides}"
        return sides[0] or sides[1]
    if isinstance(node, promql.Call):
        below = [labels_of(argument, exported, place) for argument in node.args]
        if node.func.name == "histogram_quantile":
            assert "le" in below[1], f"{place}: a quantile needs the label le"
            return below[1] - {"le"}
        return set().union(*below)
    if isinstance(node, promql.ParenExpr):
        return labels_of(node.expr, exported, place)
    assert isinstance(node, promql.NumberLiteral), f"{place}: {type(node)}"
    return set()


@pytest.mark.parametrize(("place", "text"), expressions(), ids=lambda it: it[:40])
def test_each_expression_finds_its_metrics_and_labels(
    place: str, text: str, exported: Exported
) -> None:
    """A name or label that no server exports would show nothing, and alert of nothing."""
    labels_of(parsed(text), exported, place)


def test_the_texts_of_alerts_use_labels_that_their_expressions_have(exported: Exported) -> None:
    """A label that the result lacks would be an empty word."""
    for rule in yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]:
        labels = labels_of(parsed(rule["expr"]), exported, rule["alert"])
        used = set(re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"])))
        assert used <= labels, f"{rule['alert']}: {used - labels}"
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert promql.parse_duration(rule.get("for", "1m"))


def test_the_dashboard_shows_every_metric(exported: Exported) -> None:
    """Whoever adds a metric adds it to the dashboard."""
    text = DASHBOARD.read_text()
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in exported}
    assert len(families) > 15
    assert {name for name in families if name not in text} == set()
    dashboard = json.loads(text)
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]}
    assert len(places) == len(ids), "panels lie beside each other"
    names = {variable["name"] for variable in dashboard["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", text)) - {"__rate_interval", "__all"}
    assert used == names
