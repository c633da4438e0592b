#ifndef MEDIAVAULT_CPROCESS_SHIM_H
#define MEDIAVAULT_CPROCESS_SHIM_H

// What Swift cannot call of the system: variadic functions, and what its module of the C library leaves out. One shim for
// each, with a fixed signature.
// (The name CSystem is taken: swift-system has a target so called, and target names are unique across a package graph.)

#ifdef __linux__
#include <features.h>
#include <sys/prctl.h>

/// Forbids core dumps and debugger attachment by other processes of the same user. Returns 0, or -1 with errno set.
static inline int cprocess_forbid_dumps(void) {
    return prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
}
#endif

#ifdef __GLIBC__
#include <malloc.h>

/// Has the allocator keep so many freed bytes of each arena, and give what is larger than a bound back at once.
/// Returns 1, or 0 where it refuses.
static inline int cprocess_keep_freed_memory(int kept, int bound) {
    return mallopt(M_TRIM_THRESHOLD, kept) && mallopt(M_MMAP_THRESHOLD, bound);
}

/// Gives all freed memory back to the system. It may take some milliseconds.
static inline void cprocess_give_freed_memory_back(void) { malloc_trim(0); }
#endif

#endif
