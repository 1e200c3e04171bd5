"""The family's figures by name, each drawn from the tables of the same report: `harness report RUN --figures DIR`.

figure-3    success rate over parameters, base and instruct joined     leaderboard
figure-4a   success rate over versions                                 leaderboard
figure-4b   mean pass rate by category                                 tasks
figure-4c   differences of failure labels between two columns          labels
figure-6    reward of each run on the tasks that vary most             variance
figure-7    map of pass rates by task                                  tasks
figure-8    the same map of the published columns                      tasks
figure-9    failures by axis, a pie a model                            labels
figure-10   failures by label, a bar a model                           labels
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.families.contract.heatmap import figure7, figure8
from harness.families.contract.profiles import figure4b, figure4c, figure6, figure9, figure10
from harness.families.contract.scaling import figure3, figure4a
from harness.report.svg import Draw

FIGURES: Mapping[str, Draw] = {
    "figure-3": figure3,
    "figure-4a": figure4a,
    "figure-4b": figure4b,
    "figure-4c": figure4c,
    "figure-6": figure6,
    "figure-7": figure7,
    "figure-8": figure8,
    "figure-9": figure9,
    "figure-10": figure10,
}
"""Name -> what draws it."""
