/* Finds the C library's own functions. See storage_real.h. */
#define _GNU_SOURCE
#include "storage_real.h"

#include <dlfcn.h>

#define DEFINE(type, name, arguments) type(*real_##name) arguments;
FOR_EACH_REAL(DEFINE)

void find_real(void)
{
    /* Assigned through a pointer to an object: ISO C knows no cast between the two kinds. */
#define FIND(type, name, arguments) *(void **)&real_##name = dlsym(RTLD_NEXT, #name);
    FOR_EACH_REAL(FIND)
    /* Older libraries have fcntl without the other name. */
    if (!real_fcntl64)
        *(void **)&real_fcntl64 = dlsym(RTLD_NEXT, "fcntl");
}
