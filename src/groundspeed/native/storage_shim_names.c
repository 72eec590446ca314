/* The shim's calls that take names away and make them. See storage_shim.c.
 *
 * To the model a file that goes is forgotten with its dirty pages, unless this process still has it
 * open: then that is for the last close. Names that come matter to a power cut only.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage_descriptors.h"
#include "storage_files.h"
#include "storage_keep.h"
#include "storage_real.h"

static bool is_going(int directory, const char *path, struct file_identity *identity)
{
    bool going = false;
    if (state && !is_inside())
        IN_MODEL(going = path_identity(directory, path, identity));
    return going;
}

static int gone(int result, bool going, const struct file_identity *identity)
{
    if (going && result == 0)
        IN_MODEL({
            struct file_id id = files_known(state, identity);
            /* For a power cut the file keeps a name, and no close is seen to be the last. */
            if (journal || !descriptors_have(id))
                files_forget(state, id);
        });
    return result;
}

#define REMOVE(directory, path, call)                                                              \
    struct file_identity identity;                                                                 \
    bool going = is_going(directory, path, &identity);                                             \
    int result;                                                                                    \
    NAMING(keep_removal(directory, path), result, call);                                           \
    return gone(result, going, &identity)

SHOWN int unlink(const char *path)
{
    REMOVE(AT_FDCWD, path, REAL(unlink)(path));
}

SHOWN int unlinkat(int directory, const char *path, int flags)
{
    REMOVE(directory, path, REAL(unlinkat)(directory, path, flags));
}

SHOWN int remove(const char *path)
{
    REMOVE(AT_FDCWD, path, REAL(remove)(path));
}

SHOWN int rmdir(const char *path)
{
    REMOVE(AT_FDCWD, path, REAL(rmdir)(path));
}

/* Names that change places do so at once, as far as a power cut goes. */
#define MOVE(from_directory, from, to_directory, to, replaces, call)                               \
    struct file_identity identity;                                                                 \
    bool going = (replaces) && is_going(to_directory, to, &identity);                              \
    int result;                                                                                    \
    NAMING((replaces) ? keep_move(from_directory, from, to_directory, to) : NULL, result, call);   \
    return gone(result, going, &identity)

SHOWN int rename(const char *from, const char *to)
{
    MOVE(AT_FDCWD, from, AT_FDCWD, to, true, REAL(rename)(from, to));
}

SHOWN int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
    MOVE(from_directory, from, to_directory, to, true,
         REAL(renameat)(from_directory, from, to_directory, to));
}

#define EXCHANGE (1U << 1) /* RENAME_EXCHANGE, of <linux/fs.h> */

SHOWN int renameat2(int from_directory, const char *from, int to_directory, const char *to,
                    unsigned flags)
{
    MOVE(from_directory, from, to_directory, to, !(flags & EXCHANGE),
         REAL(renameat2)(from_directory, from, to_directory, to, flags));
}

/* ---- names that come; only a power cut cares */

SHOWN int link(const char *from, const char *to)
{
    int result;
    NAMING(keep_new_name(AT_FDCWD, to, false), result, REAL(link)(from, to));
    return result;
}

SHOWN int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags)
{
    int result;
    NAMING(keep_new_name(to_directory, to, false), result,
           REAL(linkat)(from_directory, from, to_directory, to, flags));
    return result;
}

SHOWN int mkdir(const char *path, mode_t mode)
{
    int result;
    NAMING(keep_new_name(AT_FDCWD, path, true), result, REAL(mkdir)(path, mode));
    return result;
}

SHOWN int mkdirat(int directory, const char *path, mode_t mode)
{
    int result;
    NAMING(keep_new_name(directory, path, true), result, REAL(mkdirat)(directory, path, mode));
    return result;
}
