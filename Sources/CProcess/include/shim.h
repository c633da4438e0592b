#ifndef MEDIAVAULT_CPROCESS_SHIM_H
#define MEDIAVAULT_CPROCESS_SHIM_H

// C library functions that Swift cannot call: variadic ones, and those that its module of the C library omits. Each has
// one shim with a fixed signature. (The name CSystem is taken by a target of swift-system, and target names are unique
// across a package graph.)

/// Returns the arguments of this process as `main` gets them, the program's name first; a null pointer is the last.
///
/// Swift reads them from /proc, and finds none if /proc is not mounted.
char **cprocess_arguments(void);

/// Returns the variables of this process, each as `NAME=value`; a null pointer is the last.
char **cprocess_variables(void);

#ifdef __linux__
#include <features.h>
#include <sys/prctl.h>

/// Forbids core dumps, and debugger attachment by other processes of the same user. Returns 0, or -1 with errno set.
static inline int cprocess_forbid_dumps(void) {
    return prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
}
#endif

#ifdef __GLIBC__
#include <malloc.h>

/// Makes the allocator keep up to `kept` freed bytes in each arena, and return freed blocks larger than `bound` to the
/// system at once.
///
/// Returns 1, or 0 if the allocator refuses.
static inline int cprocess_set_malloc_thresholds(int kept, int bound) {
    return mallopt(M_TRIM_THRESHOLD, kept) && mallopt(M_MMAP_THRESHOLD, bound);
}

/// Limits the allocator to `most` arenas, each of which reserves address space. Returns 1, or 0 if it refuses.
static inline int cprocess_set_malloc_arenas(int most) { return mallopt(M_ARENA_MAX, most); }

/// Returns all freed memory to the system. This may take some milliseconds.
static inline void cprocess_release_free_memory(void) { malloc_trim(0); }

/// Makes the allocator overwrite memory that is freed after this call. Returns 1, or 0 if it refuses.
static inline int cprocess_overwrite_freed_memory(void) { return mallopt(M_PERTURB, 0xA5); }
#endif

#endif
