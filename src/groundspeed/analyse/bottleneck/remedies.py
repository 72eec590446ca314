"""What would change each bottleneck, in one sentence; braces are filled by the rule."""

from __future__ import annotations

CLIENT = (
    "more pgbench threads (-j), a machine of its own for the load, or a lighter script: the server"
    " was not at its limit"
)
CLIENT_TOOL = (
    "more threads of the load tool, a machine of its own for the load, or more requests at once:"
    " the server was not at its limit"
)
CPU_SHARED = (
    "more or faster cores, or the load on a machine of its own: the thread of all clients stood in"
    " line for a core"
)
CPU = (
    "more or faster cores, less work a transaction (prepared statements, an index), or the load on"
    " a machine of its own where both share these cores"
)
QUOTA = (
    "a larger processor quota for the server's control group (cpu.max, or limits.cpu of its pod)"
)
STOLEN = (
    "a machine whose processors are its own: no burstable class without credits, and no host that"
    " is sold twice over"
)
BRANCHES = (
    "a scale of at least the number of clients: every transaction of tpcb-like updates one of"
    " {scale:,} branches, and {clients} clients stand in line for them"
)
ROWS = (
    "shorter transactions, or fewer that change the same rows: faster storage helps no more than"
    " the holders of the locks wait for it"
)
LATCH = "fewer sessions at once (a connection pool in front of the server)"
LOG = (
    "a device that syncs faster, group commit (commit_delay), or synchronous_commit=off if losing"
    " the last moments is allowed"
)
LOG_ALONE = (
    "a device that syncs faster, more clients that share each sync, or synchronous_commit=off if"
    " losing the last moments is allowed"
)
READS = (
    "more memory for shared_buffers and the page cache, a device that reads faster, or more clients"
    " if it serves more requests at once"
)
READ_BANDWIDTH = "more throughput of the device, or more memory so that less is read"
WRITE_BANDWIDTH = (
    "more throughput of the device, fewer bytes (wal_compression, fewer indexes), or the log on a"
    " device of its own"
)
IOPS = (
    "more IOPS of the device, more memory so that less is read, or more commits that share a sync"
)
CHECKPOINT = (
    "a larger max_wal_size{now} and checkpoint_timeout, so that checkpoints come less often and"
    " fewer pages go to the log in full (wal_compression makes those smaller)"
)
BUFFERS = "larger shared_buffers{now}, so that the blocks the workload touches stay there"
SPILL = "a larger work_mem, so that sorts and hashes stay in memory"
SWAP = "more memory, or smaller shared_buffers and work_mem, so that nothing goes to swap"
SWAP_DATA = "more memory, or fewer data in it, so that nothing goes to swap"
ROUND_TRIP = (
    "the load nearer to the server, or fewer round trips a transaction (a function, pipelining, one"
    " statement in place of several)"
)
LINK = "a faster link, or fewer bytes in each answer"
REPLICA = (
    "a nearer or faster standby, or synchronous_commit=local if losing commits in a failover is"
    " allowed"
)
THREAD = (
    "faster cores, cheaper requests, or several servers that share the keys: one thread serves all"
    " clients, and more cores do not help it"
)
STALL = (
    "a device that syncs faster, a sync each second in place of one before each answer if losing"
    " the last second is allowed, or more clients that share each sync"
)
STALL_BEHIND = (
    "a device that syncs faster, or fewer bytes between two syncs: writes wait while the sync of"
    " the last second goes on"
)
LOG_BANDWIDTH = (
    "more throughput of the device, or fewer bytes to it: smaller values, or snapshots in place of"
    " a log of every write if losing what came after the last one is allowed"
)
FORK = (
    "fewer snapshots and rewrites of the log (their thresholds), a device of their own, or memory"
    " and a core to spare for the child that writes them"
)
CONNECTION = (
    "connections that are kept: a pool, or a client that does not connect anew (-C) each time"
)
RATE = "a higher rate: the load asked for no more than it got"
UNSEEN = "nothing was watched: measure again with --probes full"
UNMEASURED = "nothing was measured"
SPREAD = (
    "no single thing: what takes time is spread, and a longer trial or one more change at a time"
    " would tell what counts"
)
