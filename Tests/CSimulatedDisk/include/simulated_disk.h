#pragma once
#include <stdint.h>

// A layer between SQLite and the system's files, for tests: each call that changes a file is told before it is made, and
// may be refused, and is told again when it was made.

/// What SQLite does with a file.
enum simulated_call {
    SIMULATED_OPEN = 0,
    SIMULATED_WRITE = 1,
    SIMULATED_SYNC = 2,
    SIMULATED_TRUNCATE = 3,
    SIMULATED_REMOVE = 4,
    SIMULATED_SHARE = 5,
};

/// Told of a call on a file. Before it: 0 lets it be made, 1 refuses it as a full disk does, 2 as a broken one.
typedef int (*simulated_observer)(int call, int is_done, const char *path, int64_t offset, int64_t count);

/// Puts the layer below every connection that is opened from now on. Once in a process.
int simulated_disk_install(simulated_observer observer);
