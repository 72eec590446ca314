"""Where the server's memory is and where it runs, on a machine with several NUMA nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.probes.kernel_files import numbers_of_list, read_bytes, read_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class NumaNodes:
    """The nodes of a machine: which processors and which pages belong together."""

    def __init__(self, sys: Path) -> None:
        self._nodes = {
            int(folder.name[4:]): numbers_of_list(read_bytes(folder / "cpulist"))
            for folder in (sys / "devices/system/node").glob("node[0-9]*")
            if folder.name[4:].isdigit()
        }

    @property
    def several(self) -> bool:
        """Whether there is anything to ask."""
        return len(self._nodes) > 1

    def remote_ratio(
        self, pids: Sequence[int], ticks_by_processor: Mapping[int, int], proc: Path
    ) -> float | None:
        """Estimate the share of page accesses that go to another node; None where unseen.

        One minus the sum over nodes of (share of the server's processor time there) x (share of
        its pages there), as if each tick touched any page alike. Where backends are gone when
        this is asked, their pages in shared memory still show in the other server processes.
        """
        pages = dict.fromkeys(self._nodes, 0)
        for pid in pids:
            for word in read_whole(proc / str(pid) / "numa_maps").split():
                node, _, count = word[1:].partition(b"=")
                if word.startswith(b"N") and node.isdigit() and count.isdigit():
                    pages[int(node)] = pages.get(int(node), 0) + int(count)
        ticks = {
            node: sum(ticks_by_processor.get(one, 0) for one in processors)
            for node, processors in self._nodes.items()
        }
        all_pages, all_ticks = sum(pages.values()), sum(ticks.values())
        if not all_pages or not all_ticks:
            return None
        return 1 - sum(ticks[n] / all_ticks * pages[n] / all_pages for n in self._nodes)
