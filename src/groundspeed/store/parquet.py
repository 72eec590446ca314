"""Series of evidence as Parquet: a column each, whole seconds and numbers, units in the names.

pyarrow is loaded when the first series is written or read: it takes a quarter of a second, and
`groundspeed --help` and a run without probes do without.
"""

from __future__ import annotations

import io

from groundspeed.record import Series

_INDEX = "second_index"


def encode(series: Series) -> bytes:
    """Write a series as a whole Parquet file."""
    import pyarrow as pa  # noqa: PLC0415 - see above
    from pyarrow import parquet  # noqa: PLC0415

    columns = {
        name: pa.array(map(int, values), pa.int64())  # type: ignore[arg-type]
        if name == _INDEX
        else pa.array(values, pa.float64())
        for name, values in zip(series.columns, series.values, strict=True)
    }
    file = io.BytesIO()
    # With checksums, or a byte that was damaged is a figure like any other.
    parquet.write_table(pa.table(columns), file, compression="zstd", write_page_checksum=True)
    return file.getvalue()


def decode(data: bytes) -> Series:
    """Read a Parquet file. Raises ValueError or OSError when it is damaged."""
    import pyarrow as pa  # noqa: PLC0415 - see above
    from pyarrow import parquet  # noqa: PLC0415

    try:
        file = parquet.ParquetFile(io.BytesIO(data), page_checksum_verification=True)
        table = file.read(use_threads=False)
    except pa.ArrowException as error:
        # Of many kinds, by the place of the damage.
        raise ValueError(str(error)) from None
    return Series(
        columns=tuple(table.column_names),
        values=tuple(tuple(column.to_pylist()) for column in table.columns),
    )
