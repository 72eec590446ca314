"""`groundspeed import`: what others measured becomes a run directory like any other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundspeed import published, store
from groundspeed.cli import import_files
from groundspeed.cli.arguments import DEFAULT_RESULTS, example, json_option
from groundspeed.cli.import_files import Kind, Source
from groundspeed.cli.printing import print_json
from groundspeed.cli.run_names import new_run_id
from groundspeed.errors import StoreError, UsageError
from groundspeed.importing import OutputOptions, of_outputs, of_publication

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.importing import ImportedRun


@click.command(
    "import",
    epilog=example(
        "groundspeed import nightly.log",
        "groundspeed import mine.txt pgbench_log.4711 --as my-cluster",
        "groundspeed import article.json",
    ),
)
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--as",
    "name",
    metavar="NAME",
    help="What the figures are called; without it, as the first file.",
)
@click.option(
    "--into",
    "results_dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_RESULTS,
    show_default=True,
    help="Where the run directory is made.",
)
@click.option("--workload", metavar="NAME", help="The workload, where the file names none.")
@click.option(
    "--rate",
    "rate_per_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="PER_S",
    help="What pgbench -R was given; it does not print it.",
)
@click.option(
    "--sampling-rate",
    "sampling_ratio",
    type=click.FloatRange(min=0, min_open=True, max=1),
    default=1.0,
    metavar="RATIO",
    help="What pgbench --sampling-rate was given, for its log.",
)
@json_option
def command(  # noqa: PLR0913, PLR0917 - click passes each option by its name
    files: tuple[Path, ...],
    name: str | None,
    results_dir: Path,
    workload: str | None,
    rate_per_s: float | None,
    sampling_ratio: float,
    as_json: bool,  # noqa: FBT001 - click
) -> None:
    """Take what pgbench wrote, or published results, as records.

    FILE is what pgbench printed, its logs behind it, or JSON of published results. Reports of one
    cell are its repeats. Without a log there are no percentiles.
    """
    sources = import_files.read(files)
    _refuse_mixed(sources)
    _refuse_known(sources, results_dir)
    called = name or _stem(files[0])
    if sources[0].kind is Kind.JSON:
        run = _publication(sources, called, [workload] if workload else [])
    else:
        outputs = import_files.outputs(sources)
        options = OutputOptions(
            workload=workload, rate_per_s=rate_per_s, sampling_ratio=sampling_ratio
        )
        run = of_outputs(
            called, [load for each in outputs for load in import_files.loads(each)], options
        )
    run_dir = _write(run, sources, results_dir)
    _tell(run, run_dir, as_json=as_json)


def _stem(path: Path) -> str:
    return path.name.partition(".")[0] or path.name


def _refuse_mixed(sources: Sequence[Source]) -> None:
    published_count = sum(source.kind is Kind.JSON for source in sources)
    if published_count and len(sources) > 1:
        raise UsageError(
            "published results are imported by themselves",
            "name one JSON file; what pgbench wrote takes a second command",
        )


def _refuse_known(sources: Sequence[Source], results_dir: Path) -> None:
    known = store.imported_files(results_dir)
    given: dict[str, Path] = {}
    for source in sources:
        if source.kind is Kind.LOG:
            continue
        first = given.setdefault(source.sha256, source.path)
        if first is not source.path:
            raise UsageError(f"{source.path}: the same bytes as {first}", "name each file once")
        if source.sha256 in known:
            raise UsageError(
                f"{source.path}: imported before, as {known[source.sha256]}",
                "the same figures twice would look like repeats; remove that run to import again",
            )


def _publication(sources: Sequence[Source], name: str, workloads: list[str]) -> ImportedRun:
    source = sources[0]
    publication = published.parse(source.content, name=source.name)
    return of_publication(
        publication, source.content, name=name, file=source.name, workloads=workloads
    )


def _write(run: ImportedRun, sources: Sequence[Source], results_dir: Path) -> Path:
    """Make the run directory: nothing is written before all of the figures are known."""
    with store.RunLock(results_dir):
        run_dir = store.create_run(results_dir, run.plan, new_run_id(run.plan, results_dir))
    for source in sources:
        if source.kind is not Kind.LOG:
            _keep(run_dir / "raw" / source.name, source.content)
    records = store.RunStore(run_dir)
    try:
        for record in run.records:
            trial_id = record.trial.trial_id
            if run.seconds[trial_id]:
                records.write_seconds(trial_id, record.attempt, run.seconds[trial_id])
            records.append(record)
    finally:
        records.close()
    return run_dir


def _keep(path: Path, content: bytes) -> None:
    try:
        store.write_durably(path, content)
    except OSError as error:
        raise StoreError(
            f"{path}: {error.strerror}", "make room, remove the run directory and import again"
        ) from None


def _tell(run: ImportedRun, run_dir: Path, *, as_json: bool) -> None:
    cells = {record.trial.cell for record in run.records}
    if as_json:
        print_json(
            {
                "run_dir": str(run_dir),
                "environments": [environment.name for environment in run.plan.environments],
                "cell_count": len(cells),
                "record_count": len(run.records),
            }
        )
        return
    for environment in run.plan.environments:
        mine = [r for r in run.records if r.trial.cell.environment == environment.name]
        count = len({record.trial.cell for record in mine})
        click.echo(f"{environment.name}: {_some(len(mine), 'figure')} of {_some(count, 'cell')}")
    codes = {caution.code: caution.message for r in run.records for caution in r.cautions}
    for code in ("no-log", "no-date", "published"):
        if code in codes:
            click.echo(codes[code], err=True)
    click.echo(str(run_dir))


def _some(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"
