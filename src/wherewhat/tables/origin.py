"""Where texts were read, so that the same ones can be read again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wherewhat.tables.builtin import title
from wherewhat.tables.dataset import dataset_texts
from wherewhat.tables.texts import Text, read_texts, take_turns


@dataclass(frozen=True)
class Origin:
    """Files, or a data set; `source` names them as somebody did."""

    source: str
    files: tuple[str, ...] = ()  # whole paths, which hold from every folder
    column: str = "text"
    dataset: str | None = None
    split: str | None = None

    @classmethod
    def of(cls, files: Sequence[Path], *, column: str, dataset: str | None, split: str) -> "Origin":
        """What the command line names."""
        whole = tuple(str(file.absolute()) for file in files)
        return cls(dataset or ", ".join(map(title, files)), whole, column, dataset, split if dataset else None)

    @property
    def told(self) -> dict[str, Any]:
        """As a manifest tells it."""
        return {**asdict(self), "files": list(self.files)}

    @property
    def here(self) -> bool:
        """Whether they can be read again."""
        return bool(self.dataset) or bool(self.files and all(Path(file).is_file() for file in self.files))

    def read(self) -> Iterator[Text]:
        """The texts once more."""
        if self.dataset:
            return dataset_texts(self.dataset, split=self.split or "test", column=self.column)
        return take_turns([read_texts(Path(file), self.column) for file in self.files])


def origin_of(told: Mapping[str, Any]) -> Origin:
    """What the manifest of a run says of its texts."""
    known = {name: told[name] for name in ("column", "dataset", "split") if name in told}
    return Origin(str(told.get("source")), tuple(told.get("files") or ()), **known)
