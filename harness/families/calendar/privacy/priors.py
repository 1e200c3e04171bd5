"""Whether the order of players by VPS depends on the prior belief that a slot is possible (paper, Appendix F.4).

The paper holds that it does not for priors from .3 to .7. Here every loss is made anew under each, and what changes is said.
Players are ordered among those of games under the same options.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean

from harness.families.calendar.audits.counts import everybody, named
from harness.families.calendar.audits.games import AuditedGame, Speaker
from harness.families.calendar.privacy.typed import prose_of
from harness.report.table import Row
from validators.calendar.vps import PRIOR, privacy

PRIORS = (0.3, 0.4, 0.5, 0.6, 0.7)
MEASURES = ("vps", "excess_vps")
"""Of a seat in a game: slots told, and those above the floor."""

FIELDS = ("measure", "player", "variant", "options", "others", "prior", "value", "rank")

Means = Mapping[str, Mapping[float, Mapping[Speaker, float]]]
"""Measure -> prior -> mean of each speaker over its seats."""


def typed_speakers(games: Sequence[AuditedGame]) -> list[Speaker]:
    """Everybody who wrote no prose in any game, so that what it told is measured."""
    talkers = {game.speakers[seat] for game in games for seat in game.replay.scenario.agents if prose_of(game, seat)}
    return [speaker for speaker in everybody(games) if speaker not in talkers]


def means_by_prior(games: Sequence[AuditedGame]) -> Means:
    """Both measures of everybody whose messages were all typed, under each prior."""
    typed = typed_speakers(games)
    made: dict[str, dict[float, dict[Speaker, float]]] = {measure: {} for measure in MEASURES}
    for prior in PRIORS:
        values: dict[str, defaultdict[Speaker, list[float]]] = {measure: defaultdict(list) for measure in MEASURES}
        for game in games:
            losses = privacy(game.replay, prior=prior)
            for speaker, loss, excess in zip(game.speakers, losses.by_target, losses.excess, strict=True):
                values["vps"][speaker].append(loss)
                values["excess_vps"][speaker].append(excess)
        for measure, mine in values.items():
            # nine digits: sums of the same numbers in another order are no difference
            made[measure][prior] = {speaker: round(fmean(mine[speaker]), 9) for speaker in typed}
    return made


def prior_rows(games: Sequence[AuditedGame], means: Means) -> Iterator[Row]:
    """One row a measure, prior and speaker: the mean over its seats, and its rank, 1 for who told least; equals share one."""
    for measure, by_prior in means.items():
        for prior, values in by_prior.items():
            for speaker, value in values.items():
                rank = 1 + sum(values[other] < value for other in values if other.options == speaker.options)
                yield {"measure": measure, **named(speaker, games), "prior": prior, "value": value, "rank": rank}


def order_notes(games: Sequence[AuditedGame], means: Means) -> Iterator[str]:
    """Of each measure, whether the order at every prior is that at .5, and who changes places where it is not."""
    for measure, by_prior in means.items():
        usual = by_prior[PRIOR]
        swapped = [
            f"{_label(first, games)} and {_label(second, games)} at {prior:g}"
            for prior, values in by_prior.items()
            for first, second in combinations(values, 2)
            if first.options == second.options and _sign(values[first] - values[second]) != _sign(usual[first] - usual[second])
        ]
        told = f"changes: {', '.join(swapped)}" if swapped else "is the same at every prior"
        yield f"order of players by {measure} {told}"


def _label(speaker: Speaker, games: Sequence[AuditedGame]) -> str:
    return " ".join(word for word in named(speaker, games).values() if word)


def _sign(difference: float) -> int:
    return (difference > 0) - (difference < 0)
