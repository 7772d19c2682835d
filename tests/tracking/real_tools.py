"""A process that logs to a real tool with the network off, for tests: what it printed or tried to reach is an error."""

import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

from tracking_fakes import job, steps

from wherewhat.jobs.engines import JobEvent
from wherewhat.tracking.listener import TrackingListener
from wherewhat.tracking.registry import tracker

REACHED: list[Any] = []


def refuse(*address: Any, **_: Any) -> Any:
    REACHED.append(address)
    raise OSError("the network is off")


def main(text: str, folder: Path, first: int, last: int, ending: str) -> None:
    socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse  # type: ignore[method-assign,assignment]
    jobs = [job(), job("encoding=alibi,seed=0", other=1)]  # both open at once
    listener = TrackingListener(tracker(text, folder), folder, runs=folder / "runs", say=lambda said: sys.exit(said))
    for each in jobs:
        listener(JobEvent(each, "begun"))
    for pair in zip(*(steps(each, first, last) for each in jobs), strict=True):
        for event in pair:
            listener(event)
    if ending == "killed":
        while listener._queue.qsize() or listener._feed._notes.last(jobs[1].key) != last:
            time.sleep(0.001)
        os._exit(9)
    for each in jobs:
        listener(JobEvent(each, "done", last))
    listener.close()
    if REACHED:
        sys.exit(f"it tried to reach {REACHED}")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
