"""The claim on the simulated network: which tables show its modules, and whether their nets have learnt to predict."""

from math import isnan

from wherewhat.formatting import short, signed
from wherewhat.studies.engine.claims import Verdict, claim
from wherewhat.studies.engine.results import ResultTable
from wherewhat.studies.latin_square.contrasts import added_shows_modules, listing
from wherewhat.studies.latin_square.modules import added_modules, module_contrasts, shows_modules
from wherewhat.studies.latin_square.names import (
    HELPS,
    LARGE,
    MODULES,
    NETWORK,
    NONE,
    SMALL,
    chance,
    error_cell,
    label,
    name_of,
)
from wherewhat.studies.latin_square.verdicts import only_small

LEARNT_LITTLE = 0.95  # of the variance of hidden nodes: a net that leaves more of it unexplained has learnt too little
MEAN_OF_NODES = 1.0  # what a net leaves unexplained that predicts the mean of all nodes
NO_MODULES = "The large table helps to predict hidden nodes although it shows no modules."
ADDED_SHOWS = "What training has added to the large table does show them."
NO_HELP = "The net whose table starts large predicts hidden nodes no better than a net without positions does."


@claim(
    "In a simulated network, a table that starts small shows which nodes belong to a module; a large one does not.",
    "a similar experiment in later versions; its settings are unknown",
)
def simulation(table: ResultTable) -> Verdict:
    """By the cosine of rows inside modules minus across, against the range of random tables, over seeds.

    A large table whose net has learnt nothing shows no modules either, and is no more than a part of the claim; nor is
    one that only hides under its start what training has added.
    """
    contrasts = module_contrasts(table)
    if SMALL not in contrasts or LARGE not in contrasts:
        return Verdict("Both tables are needed", "unknown")
    bound = table.estimate("", chance(MODULES)).high
    sides = [shows_modules(table, arm) for arm in (SMALL, LARGE)]
    errors = {arm: table.value(name_of(NETWORK, arm), error_cell()) for arm in table.scale.network_arms}
    words = ", ".join(f"{label(arm)}: {signed(value, 2)}" for arm, value in contrasts.items())
    ours = f"Inside minus across: {words}; 97.5 % of random tables are below {short(bound)}. "
    ours += f"{added_words(table)}Unexplained variance of hidden nodes: {listing(errors)}"
    if errors[SMALL] > LEARNT_LITTLE:
        return Verdict(f"Training was too short to judge. {ours}", "unknown")
    bare = errors.get(NONE, MEAN_OF_NODES)
    if isnan(errors[SMALL] + errors[LARGE] + bare):
        return Verdict(f"Not all nets were tested. {ours}", "unknown")
    helps, verdict = errors[LARGE] < bare - HELPS, only_small(*sides)
    if verdict == "agrees" and not helps:
        return Verdict(ours, "in part", NO_HELP)
    hidden = sides[1] == -1 and added_shows_modules(table, LARGE) == 1
    why = " ".join(words for words, holds in ((NO_MODULES, sides[1] == -1 and helps), (ADDED_SHOWS, hidden)) if holds)
    return Verdict(ours, "in part" if verdict == "agrees" and hidden else verdict, why)


def added_words(table: ResultTable) -> str:
    """What was added to tables in training, each with its bound, in half a sentence; empty where not measured."""
    pairs = {arm: pair for arm in (SMALL, LARGE) if (pair := added_modules(table, arm))}
    words = ", ".join(
        f"{label(arm)}: {signed(value, 2)} (97.5 % of its shuffles are below {short(bound)})"
        for arm, (value, bound) in pairs.items()
    )
    return f"Of what was added to the start: {words}. " if words else ""
