/* secret_arguments.so: gives a program a password in its arguments that no other user can read.
 *
 * Some programs take a password from their arguments alone, and /proc/PID/cmdline shows those to
 * every user of the machine. Here the argument list carries a mark in its place. Loaded with
 * LD_PRELOAD, this replaces the pointer to each argument that is the mark, before main() begins, by
 * one to the text itself; the kernel goes on showing the mark.
 *
 *   GROUNDSPEED_SECRET_FOR   the program's real path; in any other that inherits the variables (one
 *                            that sets rights and then starts it, say) nothing is done, as that one
 *                            would hand the text on for all to see
 *   GROUNDSPEED_SECRET_MARK  the argument to be replaced
 *   GROUNDSPEED_SECRET_FILE  /proc/self/fd/N of an inherited descriptor that holds the text
 *
 * Where the text cannot be read the program ends with 125: it would send the mark as a password.
 * It replaces whole arguments only, never the program's name, and keeps nothing in the environment.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REFUSED_CODE 125
#define PATH_BYTES 4096
/* Servers take passwords of up to 512 MB; nobody has one. */
#define TEXT_BYTES 65536

static char text[TEXT_BYTES];

static void refuse(const char *why)
{
    (void)dprintf(STDERR_FILENO, "secret_arguments: %s\n", why);
    _exit(REFUSED_CODE);
}

/* Whether this is the program that the secret is for, and no other on the way to it. */
static int is_meant(const char *program)
{
    char own[PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (!program || length < 0)
        return 0;
    own[length] = '\0';
    return strcmp(own, program) == 0;
}

static void read_text(const char *path)
{
    int number = open(path, O_RDONLY | O_CLOEXEC);
    if (number < 0)
        refuse("the text cannot be opened");
    size_t filled = 0;
    ssize_t got = 1;
    while (got > 0 && filled < sizeof text - 1) {
        got = read(number, text + filled, sizeof text - 1 - filled);
        filled += got > 0 ? (size_t)got : 0;
    }
    close(number);
    if (got != 0 || memchr(text, '\0', filled))
        refuse("the text cannot be read, is too long or holds a zero byte");
    /* Its own descriptor is of no more use, and one less thing to find. */
    int inherited;
    if (sscanf(path, "/proc/self/fd/%d", &inherited) == 1)
        close(inherited);
}

/* glibc hands constructors what it hands main(). */
__attribute__((constructor)) static void replace(int argc, char **argv, char **environment)
{
    (void)environment;
    const char *mark = getenv("GROUNDSPEED_SECRET_MARK");
    const char *path = getenv("GROUNDSPEED_SECRET_FILE");
    if (!mark || !path || !is_meant(getenv("GROUNDSPEED_SECRET_FOR")))
        return;
    read_text(path);
    for (int index = 1; index < argc; index++)
        if (strcmp(argv[index], mark) == 0)
            argv[index] = text;
    /* A program that this one starts is not meant. */
    unsetenv("LD_PRELOAD");
    unsetenv("GROUNDSPEED_SECRET_FILE");
}
