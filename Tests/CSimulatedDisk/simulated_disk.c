#include "simulated_disk.h"

#include <sqlite3.h>
#include <stddef.h>
#include <string.h>

static simulated_observer observer;
static sqlite3_vfs *below;

typedef struct {
    sqlite3_file file;
    const char *path;
    // The system's file follows, with its own data.
    sqlite3_file real[1];
} layer;

#define REAL(f) (((layer *)(f))->real)
#define PATH(f) (((layer *)(f))->path)

static int before(int call, const char *path, sqlite3_int64 offset, sqlite3_int64 count, int broken) {
    if (!path) return SQLITE_OK;
    switch (observer(call, 0, path, offset, count)) {
    case 0: return SQLITE_OK;
    case 1: return SQLITE_FULL;
    default: return broken;
    }
}

static int after(int code, int call, const char *path, sqlite3_int64 offset, sqlite3_int64 count) {
    if (path && code == SQLITE_OK) observer(call, 1, path, offset, count);
    return code;
}

static int layer_close(sqlite3_file *f) { return REAL(f)->pMethods->xClose(REAL(f)); }

static int layer_read(sqlite3_file *f, void *bytes, int count, sqlite3_int64 offset) {
    return REAL(f)->pMethods->xRead(REAL(f), bytes, count, offset);
}

static int layer_write(sqlite3_file *f, const void *bytes, int count, sqlite3_int64 offset) {
    int code = before(SIMULATED_WRITE, PATH(f), offset, count, SQLITE_IOERR_WRITE);
    if (code) return code;
    return after(REAL(f)->pMethods->xWrite(REAL(f), bytes, count, offset), SIMULATED_WRITE, PATH(f), offset, count);
}

static int layer_truncate(sqlite3_file *f, sqlite3_int64 size) {
    int code = before(SIMULATED_TRUNCATE, PATH(f), size, 0, SQLITE_IOERR_TRUNCATE);
    if (code) return code;
    return after(REAL(f)->pMethods->xTruncate(REAL(f), size), SIMULATED_TRUNCATE, PATH(f), size, 0);
}

static int layer_sync(sqlite3_file *f, int flags) {
    int code = before(SIMULATED_SYNC, PATH(f), 0, 0, SQLITE_IOERR_FSYNC);
    if (code) return code;
    return after(REAL(f)->pMethods->xSync(REAL(f), flags), SIMULATED_SYNC, PATH(f), 0, 0);
}

static int layer_size(sqlite3_file *f, sqlite3_int64 *size) { return REAL(f)->pMethods->xFileSize(REAL(f), size); }
static int layer_lock(sqlite3_file *f, int kind) { return REAL(f)->pMethods->xLock(REAL(f), kind); }
static int layer_unlock(sqlite3_file *f, int kind) { return REAL(f)->pMethods->xUnlock(REAL(f), kind); }
static int layer_reserved(sqlite3_file *f, int *is) { return REAL(f)->pMethods->xCheckReservedLock(REAL(f), is); }
static int layer_control(sqlite3_file *f, int op, void *a) { return REAL(f)->pMethods->xFileControl(REAL(f), op, a); }
static int layer_sector(sqlite3_file *f) { return REAL(f)->pMethods->xSectorSize(REAL(f)); }
static int layer_traits(sqlite3_file *f) { return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f)); }

static int layer_share(sqlite3_file *f, int region, int size, int extend, void volatile **memory) {
    // Only calls that need space on the disk.
    int code = extend ? before(SIMULATED_SHARE, PATH(f), region, size, SQLITE_IOERR_SHMMAP) : SQLITE_OK;
    if (code) return code == SQLITE_FULL ? SQLITE_IOERR_SHMSIZE : code;
    return REAL(f)->pMethods->xShmMap(REAL(f), region, size, extend, memory);
}

static int layer_share_lock(sqlite3_file *f, int first, int count, int flags) {
    return REAL(f)->pMethods->xShmLock(REAL(f), first, count, flags);
}
static void layer_barrier(sqlite3_file *f) { REAL(f)->pMethods->xShmBarrier(REAL(f)); }
static int layer_unshare(sqlite3_file *f, int remove) { return REAL(f)->pMethods->xShmUnmap(REAL(f), remove); }

// Version 2, so that no file is memory-mapped past this layer.
static const sqlite3_io_methods methods = {
    .iVersion = 2, .xClose = layer_close, .xRead = layer_read, .xWrite = layer_write, .xTruncate = layer_truncate,
    .xSync = layer_sync, .xFileSize = layer_size, .xLock = layer_lock, .xUnlock = layer_unlock,
    .xCheckReservedLock = layer_reserved, .xFileControl = layer_control, .xSectorSize = layer_sector,
    .xDeviceCharacteristics = layer_traits, .xShmMap = layer_share, .xShmLock = layer_share_lock,
    .xShmBarrier = layer_barrier, .xShmUnmap = layer_unshare,
};

static int layer_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *out) {
    (void)vfs;
    f->pMethods = NULL;
    PATH(f) = path;
    int code = before(SIMULATED_OPEN, path, flags & SQLITE_OPEN_READWRITE ? 1 : 0, 0, SQLITE_CANTOPEN);
    if (code) return SQLITE_CANTOPEN;
    memset(REAL(f), 0, (size_t)below->szOsFile);
    code = below->xOpen(below, path, REAL(f), flags, out);
    if (code != SQLITE_OK) return code;
    f->pMethods = &methods;
    return after(code, SIMULATED_OPEN, path, flags & SQLITE_OPEN_READWRITE ? 1 : 0, 0);
}

static int layer_delete(sqlite3_vfs *vfs, const char *path, int syncs) {
    (void)vfs;
    int code = before(SIMULATED_REMOVE, path, syncs, 0, SQLITE_IOERR_DELETE);
    if (code) return code;
    return after(below->xDelete(below, path, syncs), SIMULATED_REMOVE, path, syncs, 0);
}

int simulated_disk_install(simulated_observer told) {
    static sqlite3_vfs top;
    observer = told;
    below = sqlite3_vfs_find(NULL);
    if (!below) return SQLITE_ERROR;
    top = *below;
    top.pNext = NULL;
    top.zName = "simulated";
    top.szOsFile = (int)offsetof(layer, real) + below->szOsFile;
    // The copied functions rely on `pAppData`, which stays the system's own.
    top.xOpen = layer_open;
    top.xDelete = layer_delete;
    return sqlite3_vfs_register(&top, 1);
}
