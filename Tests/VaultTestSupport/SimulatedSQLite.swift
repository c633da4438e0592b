import CSimulatedDisk
import VaultModel
import VaultStorage

/// Routes SQLite's file operations to the simulated file system that holds the files.
enum SimulatedSQLite {
    private struct Watched: Sendable {
        let root: String
        weak let disk: SimulatedFileSystem?
    }

    private static let watched = Locked<[Watched]>([])
    /// The result of installing the layer below SQLite, 0 for success; the first access installs it.
    private static let isInstalled = unsafe simulated_disk_install { call, isDone, path, offset, count in
        // SQLite lends the name for the call.
        guard let path = unsafe path.map({ unsafe String(cString: $0) }) else { return 0 }
        return SimulatedSQLite.observe(call, isDone: isDone != 0, path, offset, count)
    }

    static func watch(_ disk: SimulatedFileSystem, root: String) {
        precondition(isInstalled == 0, "the layer below SQLite cannot be installed")
        watched.withLock { all in
            all.removeAll { $0.disk == nil }
            all.append(Watched(root: root + "/", disk: disk))
        }
    }

    private static func observe(_ call: Int32, isDone: Bool, _ path: String, _ offset: Int64, _ count: Int64) -> Int32 {
        let disk = watched.withLock { all in all.first { path.hasPrefix($0.root) }?.disk }
        guard let disk else { return 0 }
        do throws(FileFailure) {
            if isDone {
                try note(call, path, offset, count, on: disk)
            } else {
                try ask(call, path, offset, count, on: disk)
            }
            return 0
        } catch {
            return error.kind == .noSpace ? 1 : 2
        }
    }

    private static func ask(
        _ call: Int32, _ path: String, _ offset: Int64, _ count: Int64, on disk: SimulatedFileSystem
    ) throws(FileFailure) {
        switch UInt32(call) {
        case SIMULATED_OPEN.rawValue: try disk.enter(disk.exists(path) ? .open : .create, path)
        case SIMULATED_WRITE.rawValue:
            try disk.enter(.write, path)
            try disk.grow(path, to: offset + count)
        case SIMULATED_SYNC.rawValue:
            do throws(FileFailure) {
                try disk.enter(.synchronize, path)
            } catch {
                disk.sqliteFailedToSynchronize(path)
                throw error
            }
        case SIMULATED_TRUNCATE.rawValue:
            try disk.enter(.truncate, path)
            disk.giveBack((try? disk.size(of: path)).map { $0 - offset } ?? 0)
        case SIMULATED_REMOVE.rawValue:
            try disk.enter(.remove, path)
            disk.giveBack((try? disk.size(of: path)) ?? 0)
        default:
            try disk.enter(.write, path + "-shm")
            try disk.grow(path + "-shm", to: (offset + 1) * count)
        }
    }

    private static func note(
        _ call: Int32, _ path: String, _ offset: Int64, _ count: Int64, on disk: SimulatedFileSystem
    ) throws(FileFailure) {
        switch UInt32(call) {
        case SIMULATED_OPEN.rawValue:
            let isEmpty = try disk.size(of: path) == 0
            if offset == 1 { try disk.sqliteOpened(path, isNew: isEmpty) }
        case SIMULATED_WRITE.rawValue: disk.sqliteWrote(offset..<(offset + count), path)
        case SIMULATED_SYNC.rawValue: try disk.sqliteSynchronized(path)
        case SIMULATED_REMOVE.rawValue: disk.sqliteRemoved(path)
        default: break
        }
    }
}
