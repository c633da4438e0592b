#ifndef MEDIAVAULT_CPROCESS_SHIM_H
#define MEDIAVAULT_CPROCESS_SHIM_H

// What Swift cannot call of the system: variadic functions. One shim for each, with a fixed signature.
// (The name CSystem is taken: swift-system has a target so called, and target names are unique across a package graph.)

#ifdef __linux__
#include <sys/prctl.h>

/// Forbids core dumps and debugger attachment by other processes of the same user. Returns 0, or -1 with errno set.
static inline int cprocess_forbid_dumps(void) {
    return prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
}
#endif

#endif
