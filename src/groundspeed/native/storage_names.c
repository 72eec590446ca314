/* Changes of names that have not committed yet, for a power cut. See storage_journal.h.
 *
 * A ring of them: as with the journal of a file system, a commit takes all that came before, and one
 * that gets full commits early. What is removed stays reachable under a number in the journal's
 * directory until its removal commits.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage_identity.h"
#include "storage_journal.h"

static struct name_change *change_at(uint64_t number)
{
    return &journal->names[number % NAMES_KEPT];
}

uint64_t commit_after(uint64_t at_ns)
{
    if (journal->commit_ns <= at_ns)
        journal->commit_ns = at_ns + COMMIT_NS;
    return journal->commit_ns;
}

void kept_path(char *path, size_t room, uint64_t kept)
{
    snprintf(path, room, "%.4000s/%llu", journal->directory, (unsigned long long)kept);
}

/* The removal is durable; where that was the last name, nothing of the file has to be put back. */
static void let_go(uint64_t kept)
{
    char path[ROOT_BYTES + 32];
    struct file_identity identity;
    kept_path(path, sizeof path, kept);
    if (identity_of(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &identity))
        journal_drop(identity.device, identity.inode, identity.birth_ns);
    unlink(path);
}

struct name_change *names_room(uint64_t now_ns)
{
    for (;;) {
        uint64_t first = word_load(&journal->names_first);
        struct name_change *oldest = change_at(first);
        bool full = word_load(&journal->names_next) - first == NAMES_KEPT;
        if (first == word_load(&journal->names_next) || (!full && oldest->done_ns > now_ns))
            break;
        if (oldest->kept)
            let_go(oldest->kept);
        word_store(&journal->names_first, first + 1);
    }
    struct name_change *change = change_at(word_load(&journal->names_next));
    change->done_ns = commit_after(now_ns);
    /* Never before those that came before it, one of which may wait for a slow sync. */
    uint64_t next = word_load(&journal->names_next);
    if (next > word_load(&journal->names_first) && change_at(next - 1)->done_ns > change->done_ns)
        change->done_ns = change_at(next - 1)->done_ns;
    change->inode = change->kept = 0;
    change->from[0] = change->to[0] = '\0';
    return change;
}

void names_added(void)
{
    atomic_fetch_add(&journal->names_next, 1);
}

/* Later ones commit later, so those that wait are at the end. */
void names_commit(uint64_t done_ns)
{
    journal->commit_ns = 0;
    for (uint64_t i = word_load(&journal->names_next); i > word_load(&journal->names_first); i--) {
        if (change_at(i - 1)->done_ns <= done_ns)
            return;
        change_at(i - 1)->done_ns = done_ns;
    }
}

bool names_wait(uint64_t inode, uint64_t now_ns)
{
    for (uint64_t i = word_load(&journal->names_next); i > word_load(&journal->names_first); i--) {
        if (change_at(i - 1)->done_ns <= now_ns)
            return false;
        if (change_at(i - 1)->inode == inode)
            return true;
    }
    return false;
}
