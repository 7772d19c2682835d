"""What rotary logits of rows of some texts are made of, frequency by frequency."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import pad

from wherewhat.logits.factors import Factors


@dataclass(frozen=True)
class RotaryPlanes:
    """a[k, j] = Re Σ_f rotated_query_f key_{k,f} phase_{j,f}, with channel pairs as complex numbers.

    Rows may belong to several texts, whose keys and phases are padded to the longest.
    """

    query_HQF: Tensor  # before rotation
    rotated_query_HQF: Tensor  # after it, conjugated and scaled
    key_BGKF: Tensor  # before rotation
    phase_BKF: Tensor  # what each slot does to a key; a single one where all texts share it
    theta_BF: Tensor  # radians per token, of every text
    text_Q: Tensor  # which text each row belongs to

    @classmethod
    def join(cls, parts: Sequence["RotaryPlanes"]) -> "RotaryPlanes":
        """The rows of several texts, one text after the other."""
        keys = max(part.key_BGKF.shape[2] for part in parts)
        longest = max(parts, key=lambda part: part.key_BGKF.shape[2])
        shared = all(torch.equal(longest.phase_BKF[:, : part.phase_BKF.shape[1]], part.phase_BKF) for part in parts)
        phases = [longest] if shared else parts
        return cls(
            query_HQF=torch.cat([part.query_HQF for part in parts], 1),
            rotated_query_HQF=torch.cat([part.rotated_query_HQF for part in parts], 1),
            key_BGKF=torch.cat([pad(part.key_BGKF, (0, 0, 0, keys - part.key_BGKF.shape[2])) for part in parts]),
            phase_BKF=torch.cat([pad(part.phase_BKF, (0, 0, 0, keys - part.phase_BKF.shape[1])) for part in phases]),
            theta_BF=torch.cat([part.theta_BF for part in parts]),
            text_Q=torch.cat([part.text_Q + number for number, part in enumerate(parts)]),
        )

    def rows(self, index_Q: Tensor) -> "RotaryPlanes":
        """Only some of the rows."""
        return replace(
            self,
            query_HQF=self.query_HQF[:, index_Q],
            rotated_query_HQF=self.rotated_query_HQF[:, index_Q],
            text_Q=self.text_Q[index_Q],
        )

    def factors(self, rows_Q: Tensor, keys: int) -> Factors:
        """The tables of some rows over their first so many keys: real parts first, imaginary parts behind them.

        A content comes with its row's query, so that slots are the same for all heads and, mostly, for all rows.
        """
        text_Q, queries = self.text_Q[rows_Q], len(rows_Q)
        key_QGKF = self.key_BGKF[text_Q, :, :keys]
        groups, planes = key_QGKF.shape[1], key_QGKF.shape[3]
        query_QGRF = self.rotated_query_HQF[:, rows_Q].transpose(0, 1).reshape(queries, groups, -1, planes)
        content_QGRKF = query_QGRF[:, :, :, None] * key_QGKF[:, :, None]
        content_HQKF = content_QGRKF.flatten(1, 2).transpose(0, 1)
        phase_QKF = self.phase_BKF[:, :keys] if len(self.phase_BKF) == 1 else self.phase_BKF[text_Q, :keys]
        return Factors(
            torch.cat((content_HQKF.real, content_HQKF.imag), -1),
            torch.cat((phase_QKF.real, -phase_QKF.imag), -1)[None],
        )
