#ifndef MEDIAVAULT_CFILE_SHIM_H
#define MEDIAVAULT_CFILE_SHIM_H

// Calls on files and on the index's database that Swift cannot make, with fixed signatures.

#include <sqlite3.h>

/// Makes a connection defensive: no statement can write to the schema as a table or turn the rollback journal off.
///
/// `sqlite3_db_config` is variadic, so Swift cannot call it. Returns SQLite's result code.
static inline int cfile_set_defensive(sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
}

#ifdef __linux__
#include <linux/fs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/// Reads at most `count` bytes at `offset` that are in the page cache, without waiting for the disk.
///
/// Returns the number of bytes read, or -1 with errno set: EAGAIN if it would have to wait, EOPNOTSUPP if the file
/// system does not support this.
static inline ssize_t cfile_read_cached(int descriptor, void *buffer, size_t count, long long offset) {
    struct iovec place = {.iov_base = buffer, .iov_len = count};
    return syscall(
        SYS_preadv2, descriptor, &place, 1UL, (unsigned long)offset,
        (unsigned long)((unsigned long long)offset >> 32), RWF_NOWAIT);
}

/// Makes the kernel start writing `count` bytes at `offset` to the disk, without waiting.
///
/// This is a hint: its result is ignored (sync_file_range(2)).
static inline void cfile_start_writeback(int descriptor, long long offset, long long count) {
    // The value of the flag, which never changes; the C library declares its name only with extensions enabled.
    (void)syscall(SYS_sync_file_range, descriptor, offset, count, 2UL);
}

/// Makes everything written to the file system of an open file durable. Returns 0, or -1 with errno set.
static inline int cfile_sync_file_system(int descriptor) { return (int)syscall(SYS_syncfs, descriptor); }
#endif

#ifdef __GLIBC__
#include <spawn.h>

// The header declares this function only with extensions enabled.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);

/// Makes a spawned child close every descriptor from `first` on. Returns 0, or an error number.
static inline int cfile_close_from(posix_spawn_file_actions_t *_Nonnull actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}
#endif

#endif
