import VaultStorage

/// The names on the disk, and the changes that only the running system sees.
///
/// Only changed names are listed; every other name is on the disk unchanged.
struct SimulatedNames {
    enum Entry: Equatable {
        case nothing, folder
        /// A file, by its number.
        case file(Int)
    }

    /// Names that change together: a rename within a folder is atomic.
    private struct Change {
        let folder: String
        let entries: [String: Entry]
    }

    private(set) var current: [String: Entry] = [:]
    private var durable: [String: Entry] = [:]
    private var unsynced: [Change] = []

    /// Records a name before its first change: its current file is on the disk.
    mutating func adopt(_ path: String, _ entry: Entry) {
        guard current[path] == nil else { return }
        current[path] = entry
        durable[path] = entry
    }

    mutating func set(_ path: String, _ entry: Entry) { change([path: entry]) }

    mutating func rename(_ path: String, to newPath: String) {
        let moved = current[path] ?? .nothing
        if PosixFileSystem.folder(of: path) == PosixFileSystem.folder(of: newPath) {
            change([path: .nothing, newPath: moved])
        } else {
            change([newPath: moved])
            change([path: .nothing])
        }
    }

    private mutating func change(_ entries: [String: Entry]) {
        guard let path = entries.keys.first else { return }
        current.merge(entries) { $1 }
        unsynced.append(Change(folder: PosixFileSystem.folder(of: path), entries: entries))
    }

    mutating func synchronize(_ folder: String) {
        for change in unsynced where change.folder == folder { durable.merge(change.entries) { $1 } }
        unsynced.removeAll { $0.folder == folder }
    }

    /// The names after a power loss: each unsynced change reached the disk or did not.
    func survivors(_ dice: inout PowerLossDice) -> [String: Entry] {
        var names = durable
        for path in current.keys where names[path] == nil { names[path] = .nothing }
        for change in unsynced where dice.reachedDisk() { names.merge(change.entries) { $1 } }
        return names
    }
}
