"""The Hugging Face Hub: whether it can be reached, found out within seconds instead of by retrying for a minute."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from typing import Any

import huggingface_hub

from wherewhat.errors import UserError
from wherewhat.names import suggestion

HUB_ID = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
LONGEST = 96  # characters that the Hub allows a name
PATIENCE = 2.5  # seconds; HF_HUB_ETAG_TIMEOUT, which says the same to the Hub's own client, overrides it


def must_be_cached(
    name: str, revision: str | None = None, *, offline: bool = False, built_in: Mapping[str, object] = {}
) -> bool:
    """Whether a model has to come from this machine's cache; refused if it cannot.

    It has to where nothing but this machine may be asked (`offline`), and where the Hub does not answer. Otherwise
    False for everything that does not come from the Hub, and where HF_HUB_OFFLINE, which the Hub's own client obeys,
    forbids asking it. `built_in` are names that may have been meant.
    """
    if len(name) > LONGEST or not HUB_ID.fullmatch(name) or Path(name).exists():
        return offline
    if offline or forbidden():
        if not _cached(name, revision):
            why = "--offline" if offline else "HF_HUB_OFFLINE is set"
            raise UserError(
                f"there is no model '{name}' on this machine, and the Hub must not be contacted ({why}); "
                f"{suggestion(name, built_in)}check the name, or name a local folder or a built-in model (tiny)"
            )
        return offline
    if not unreachable():
        return False
    if not _cached(name, revision):
        raise UserError(
            f"'{name}' is not on this machine and the Hub ({_endpoint()}) cannot be reached; check the network, "
            "or name a local folder or a built-in model (tiny)"
        )
    return True


def forbidden() -> bool:
    """Whether the environment forbids contacting the Hub."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}


def unreachable() -> bool:
    """Whether the Hub may be asked and does not answer. Asks in a thread: looking up a host name has no time limit.

    With HF_HUB_OFFLINE it may not be asked, and its own client says so at once.
    """
    if forbidden():
        return False
    patience = float(os.environ.get("HF_HUB_ETAG_TIMEOUT", PATIENCE))
    session = huggingface_hub.get_session()  # here: what it imports takes time that is not the network's
    answers: list[bool] = []
    request = Thread(target=lambda: answers.append(_answers(session, patience)), daemon=True)
    request.start()
    request.join(patience)
    return answers != [True]


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co")


def _answers(session: Any, patience: float) -> bool:
    """Whether a server answers, if only to refuse, by the certificates and proxies that models are loaded with."""
    try:
        session.head(_endpoint(), timeout=patience)
    except Exception:  # no route, no name, no time, or a stranger's certificate, as where one has to log in first
        return False
    return True


def _cached(name: str, revision: str | None) -> bool:
    return isinstance(huggingface_hub.try_to_load_from_cache(name, "config.json", revision=revision), str)
