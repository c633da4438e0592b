#ifndef MEDIAVAULT_CFILE_SHIM_H
#define MEDIAVAULT_CFILE_SHIM_H

// Calls on files, and on the index's file, that Swift cannot make, behind a fixed signature.

#include <sqlite3.h>

/// Puts a connection on guard: no statement can write the schema as if it were a table, or turn the rollback journal off.
/// Variadic, so out of Swift's reach. Returns SQLite's result code.
static inline int cfile_guard_schema(sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
}

#ifdef __linux__
#include <linux/fs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/// Reads at `offset` what lies in memory already, at most `count` bytes, and never waits for the disk. Returns the bytes
/// read, or -1 with errno set: EAGAIN where it would have to wait, EOPNOTSUPP where the file system cannot tell.
static inline ssize_t cfile_read_from_memory(int descriptor, void *buffer, size_t count, long long offset) {
    struct iovec place = {.iov_base = buffer, .iov_len = count};
    return syscall(
        SYS_preadv2, descriptor, &place, 1UL, (unsigned long)offset,
        (unsigned long)((unsigned long long)offset >> 32), RWF_NOWAIT);
}

/// Has the kernel begin to write `count` bytes at `offset` to the disk, and does not wait for that. A hint: its result
/// means nothing (sync_file_range(2)).
static inline void cfile_begin_writing(int descriptor, long long offset, long long count) {
    // The flag's value, which is fixed: the C library shows its name with extensions alone.
    (void)syscall(SYS_sync_file_range, descriptor, offset, count, 2UL);
}
#endif

#ifdef __GLIBC__
#include <spawn.h>

// Its header shows the name with extensions alone.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);

/// Has a child that is spawned close every descriptor from `first` on. Returns 0, or an error number.
static inline int cfile_close_from(posix_spawn_file_actions_t *_Nonnull actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}
#endif

#endif
