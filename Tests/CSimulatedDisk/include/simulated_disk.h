#pragma once
#include <stdint.h>

// A layer between SQLite and the system's files, for tests: each call that changes a file is reported before it runs,
// may be refused, and is reported again after it has run.

/// SQLite's operations on a file.
enum simulated_call {
    SIMULATED_OPEN = 0,
    SIMULATED_WRITE = 1,
    SIMULATED_SYNC = 2,
    SIMULATED_TRUNCATE = 3,
    SIMULATED_REMOVE = 4,
    SIMULATED_SHARE = 5,
};

/// Receives each call on a file. Before the call, 0 lets it run, 1 refuses it like a full disk, 2 like a broken one.
typedef int (*simulated_observer)(int call, int is_done, const char *path, int64_t offset, int64_t count);

/// Installs the layer below every connection that is opened from now on. Call it once in a process.
int simulated_disk_install(simulated_observer observer);
