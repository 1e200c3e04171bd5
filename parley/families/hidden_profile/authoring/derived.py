"""Files derived from a scenario: the certificate that verdicts read, and the votes of the oracle.

tests/oracle.json    the certificate (oracles.hidden_profile.certificate), one line per key and per entry of its tables
solution/plan.json   {"key", "decoy"}: the oracle tells everything and votes for `key`; wrong clients keep `decoy`, which
                     is any wrong option if the scenario names no decoy. For a deck
                     {"options", "cards", "deals"}: the oracle finds the deal, and so its key, from the texts told
environment/api/sizes.json  for a deck: the other numbers of people to whom it can be dealt, and the hands for each
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oracles.hidden_profile.certificate import certify, certify_deck
from parley.proof.sync import spread_json
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.certificate import Certificate
from worlds.hidden_profile.rules.deck import SIZES, Deck, read_task

CERTIFICATE, PLAN = "tests/oracle.json", "solution/plan.json"


def derived(folder: Path) -> Mapping[str, bytes]:
    """Return the derived files of a task folder by relative path. Raises ValueError for a broken scenario, OSError for none."""
    read = read_task(folder / "environment" / "api" / SCENARIO)
    if isinstance(read, Deck):
        certificate = certify_deck(read)
        sizes = {str(row.people): [list(hand) for hand in row.hands] for row in certificate.sizes}
        files = {CERTIFICATE: certificate.document(), PLAN: _plan(read, certificate), f"environment/api/{SIZES}": sizes}
        return {name: _spread(document) for name, document in files.items()}
    wrong = read.decoy or next(option for option in read.option_ids if option != read.key)
    plan = json.dumps({"key": read.key, "decoy": wrong}) + "\n"
    return {CERTIFICATE: _spread(certify(read).document()), PLAN: plan.encode()}


def _plan(deck: Deck, certificate: Certificate) -> dict[str, Any]:
    return {
        "options": list(deck.option_ids),
        "cards": {card.id: [words.text for words in card.texts] for card in deck.open_cards},
        "deals": [{"versions": row.versions, "key": row.key, "leader": row.leader} for row in certificate.deals],
    }


def _spread(document: Mapping[str, Any]) -> bytes:
    """Return JSON with a line for each key, and for each entry of an object, or of a list of objects, in it."""
    tables = {
        key for key, value in document.items() if isinstance(value[0] if isinstance(value, list) and value else value, dict)
    }
    return spread_json(document, tables)
