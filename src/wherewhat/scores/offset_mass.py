"""Where a head looks relative to the query, as a profile: its attention added up by offset."""

from torch import Tensor

from wherewhat.scores.base import Rows


def offset_mass(rows: Rows) -> tuple[Tensor, Tensor]:
    """The attention spent at each offset, mass_HO, and in how many rows that offset was visible, count_O.

    Offsets run from -(n - 1) to n - 1 for n keys, one column each. Their ratio is the mean profile.
    """
    heads, _, keys = rows.attention_HQK.shape
    mass_HO = rows.attention_HQK.new_zeros(heads, 2 * keys - 1)
    starts = (keys - 1 - rows.queries_Q).tolist()  # they place slices, so they have to leave the device
    # One row at a time, each added where its query falls on offset 0. An index_add over all rows is as quick at
    # 1,024 keys, four times slower at 8,192, and needs an index for every weight.
    for start, attention_HK in zip(starts, rows.attention_HQK.unbind(1), strict=True):
        mass_HO.narrow(1, start, keys).add_(attention_HK)
    index = (rows.offsets_QK + (keys - 1)).flatten()
    count_O = index.new_zeros(2 * keys - 1).index_add_(0, index, rows.allowed_QK.flatten().long())
    return mass_HO, count_O
