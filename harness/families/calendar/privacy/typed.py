"""What typed messages told in recorded games: the four tables of the paper's Appendix F.5, and the exact losses beside them.

Rows are those of the validator (`validators.calendar.vps`, `exact_vps`), each with the path of its episode and which episode it
is. The paper's columns come first, by its names. What the paper has no column for follows: channel and phase of evidence; of a
target its player, the messages in prose (of which these losses say nothing), and its losses by the other estimates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.families.calendar.audits.games import AuditedGame
from harness.report.table import Row
from validators.calendar.evidence import is_typed
from validators.calendar.exact_vps import ExactPrivacy, exact_privacy
from validators.calendar.vps import PHASE, PRIOR, Privacy, privacy, tables

IDS = ("trace_path", "game_id")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "belief_evidence": (
        *IDS, "event_index", "round", "target_agent", "observer_agent", "slot", "source", "evidence", "strength",
        "belief_before", "belief_after", "channel", "phase", "prior",
    ),
    "pair_round_vps": (
        *IDS, "round", "target_agent", "observer_agent", "target_is_participant", "observer_is_participant", "num_agents",
        "num_slots", "observations", "prior_distance_to_ideal", "posterior_distance_to_ideal", "vps_loss", "vps_loss_per_slot",
        "prior",
    ),
    "game_summary": (
        *IDS, "vps_loss_total", "vps_loss_mean", "participant_pair_vps_loss_total", "participant_pair_vps_loss_mean",
        "observation_count", "prior",
    ),
    "game_target_summary": (
        *IDS, "target_agent", "vps_loss_total", "excess_vps_loss_total", "participant_pair_vps_loss_total",
        "participant_pair_excess_vps_loss_total", "floor", "prior", "player", "variant", "options", "others", "prose_messages",
        "cumulative_vps_loss_total", "exact_vps_loss_total", "exact_cumulative_vps_loss_total",
    ),
    "exact_vps": (
        *IDS, "round", "target_agent", "observer_agent", "exact_vps_loss", "exact_cumulative_vps_loss", "prior_taken",
        "prior_fixed",
    ),
}  # fmt: skip
"""Table -> its columns."""


def typed_tables(games: Sequence[AuditedGame], prior: float = PRIOR) -> dict[str, list[Row]]:
    """Every table by name, over all games; `prior` is that of the paper's estimate, in 0..1."""
    made: dict[str, list[Row]] = {name: [] for name in FIELDS}
    for game in games:
        exact, lasting = exact_privacy(game.replay), privacy(game.replay, prior=prior, cumulative=True)
        known = tables(game.replay, prior=prior)
        for row in known["belief_evidence"]:
            row |= {"phase": PHASE, "prior": prior}
        for row in known["game_summary"]:
            row["prior"] = prior
        for row in known["game_target_summary"]:
            row |= {"prior": prior, **_of_target(game, row["target_agent"], lasting, exact)}
        known["exact_vps"] = list(_exact_rows(exact)) if exact else []
        for name, rows in known.items():
            made[name] += [{"trace_path": game.name, "game_id": game.key, **row} for row in rows]
    return made


def prose_of(game: AuditedGame, seat: int) -> int:
    """How many messages of a seat are no protocol's, so that nothing here measures what they told."""
    return sum(one.sender == seat and not is_typed(one.content) for one in game.replay.messages)


def _of_target(game: AuditedGame, target: int, lasting: Privacy, exact: ExactPrivacy | None) -> Row:
    mine = exact.by_target[target] if exact else None
    return {
        **game.speakers[target]._asdict(),
        "prose_messages": prose_of(game, target),
        "cumulative_vps_loss_total": lasting.by_target[target],
        "exact_vps_loss_total": mine.fresh if mine else None,
        "exact_cumulative_vps_loss_total": mine.lasting if mine else None,
    }


def _exact_rows(exact: ExactPrivacy) -> Iterator[dict[str, Any]]:
    for (number, target, observer), loss in exact.pairs.items():
        yield {
            "round": number, "target_agent": target, "observer_agent": observer, "exact_vps_loss": loss.fresh,
            "exact_cumulative_vps_loss": loss.lasting, "prior_taken": exact.prior.taken, "prior_fixed": exact.prior.fixed,
        }  # fmt: skip
