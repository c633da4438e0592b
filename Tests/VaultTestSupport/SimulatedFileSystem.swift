import Foundation
import Synchronization
package import VaultStorage

/// A file system that tracks what would survive a power loss, and that can be made to fail.
///
/// The files are real ones below `root`, as the running system sees them; what the *disk* holds of them is kept in
/// memory. So SQLite and the vault's lock work in the same folder as the store, and one mechanism covers them all.
/// ``loseEverythingUnsynced(tearing:into:)`` writes the disk's view into another folder, while this one continues, so
/// one run can be cut at every point.
///
/// - File content reaches the disk with `synchronize`; unsynced 512-byte sectors may or may not have.
/// - Names (created, renamed, removed) reach it with `synchronizeDirectory`; unsynced changes may or may not have.
/// - After a failed `synchronize` the bytes can still be read, but never reach the disk unless they are written again.
/// - SQLite's writes to `index.sqlite` and its log count as durable, unless this file system sees them: then the calls
///   on these files are counted, fail, and reach the disk like those on any other.
package final class SimulatedFileSystem: FileSystem {
    private let root: String
    private let real = PosixFileSystem()
    /// Whether SQLite's file operations below `root` go through here.
    private let seesIndex: Bool
    private let state = Mutex(State())

    private struct State {
        var names = SimulatedNames()
        var files: [SimulatedFile.Record] = []
        var calls: [FileOperation.Call] = []
        var faults: [Fault] = []
        var free: Int64?
        /// The number of bytes by which files may still grow; nil for an unlimited disk.
        var room: Int64?
        var total: Int64?
        var observer: (@Sendable (FileOperation.Call) -> Void)?

        mutating func add(_ file: any StoredFile, path: String, durable: [UInt8], seesIndex: Bool) -> Int {
            let syncsItself = !seesIndex && path.split(separator: "/").last?.hasPrefix("index.sqlite") ?? false
            files.append(
                SimulatedFile.Record(
                    file: file, content: SimulatedContent(durable: durable), syncsItself: syncsItself))
            return files.count - 1
        }
    }

    private struct Fault {
        let operation: FileOperation
        let fragment: String
        var callsLeft: Int
        let isLasting: Bool
        let failure: FileFailure
    }

    /// Creates a file system in which everything below `root` is already on the disk.
    ///
    /// - Parameter seesIndex: whether SQLite's operations below `root`, on connections opened from now on, are seen,
    ///   and can fail and be lost, too.
    package init(root: String, seesIndex: Bool = false) {
        self.root = root
        self.seesIndex = seesIndex
        if seesIndex { SimulatedSQLite.watch(self, root: root) }
    }

    // MARK: Observation and faults

    /// The number of calls of a kind so far whose path contains `fragment`.
    package func count(_ operation: FileOperation, of fragment: String = "") -> Int {
        state.withLock { state in
            state.calls.count { $0.operation == operation && (fragment.isEmpty || $0.path.contains(fragment)) }
        }
    }

    /// Makes the `number`-th matching call from now on fail: of kind `operation`, with a path that contains `fragment`.
    /// A lasting fault also fails every later matching call. A failed write has written half of its bytes.
    package func fail(
        _ operation: FileOperation, of fragment: String = "", number: Int = 1, lasting: Bool = false,
        with failure: FileFailure
    ) {
        state.withLock {
            $0.faults.append(
                Fault(
                    operation: operation, fragment: fragment, callsLeft: number, isLasting: lasting, failure: failure))
        }
    }

    /// Ends all faults.
    package func mend() { state.withLock { $0.faults = [] } }

    /// Sets the reported number of free bytes; nil reports the real number.
    package func claimFree(_ bytes: Int64?) { state.withLock { $0.free = bytes } }

    /// Limits the disk: files may grow by this many bytes, a removal frees space, and existing bytes may be
    /// overwritten. Nil for an unlimited disk.
    package func fill(leaving room: Int64?) { state.withLock { $0.room = room } }

    /// Reserves the space that a file needs to reach up to `end`.
    func grow(_ path: String, to end: Int64) throws(FileFailure) {
        let more = max(0, end - ((try? real.size(of: path)) ?? 0))
        let fits = state.withLock { state in
            guard let room = state.room else { return true }
            guard more <= room else { return false }
            state.room = room - more
            return true
        }
        guard fits else { throw FileFailure(.noSpace, "pwrite: No space left on device") }
    }

    /// Records that a file has become smaller, or has been removed.
    func giveBack(_ bytes: Int64) { state.withLock { $0.room = $0.room.map { $0 + max(0, bytes) } } }

    /// Sets the reported size of the disk in bytes; nil reports none.
    package func claimTotal(_ bytes: Int64?) { state.withLock { $0.total = bytes } }

    /// Calls `observer` before each call, on the caller's thread.
    package func observe(_ observer: (@Sendable (FileOperation.Call) -> Void)?) {
        state.withLock { $0.observer = observer }
    }

    func enter(_ operation: FileOperation, _ path: String) throws(FileFailure) {
        let call = FileOperation.Call(operation: operation, path: path)
        state.withLock { $0.observer }?(call)
        let failure = state.withLock { state -> FileFailure? in
            state.calls.append(call)
            var failure: FileFailure?
            for index in state.faults.indices {
                let fault = state.faults[index]
                guard fault.operation == operation, fault.fragment.isEmpty || path.contains(fault.fragment) else {
                    continue
                }
                state.faults[index].callsLeft -= 1
                if fault.callsLeft == 1 || (fault.isLasting && fault.callsLeft < 1) {
                    failure = failure ?? fault.failure
                }
            }
            return failure
        }
        if let failure { throw failure }
    }

    // MARK: FileSystem

    package func createDirectory(_ path: String) throws(FileFailure) {
        try enter(.createDirectory, path)
        let isNew = !real.exists(path)
        try real.createDirectory(path)
        guard isNew else { return }
        state.withLock { state in
            state.names.adopt(path, .nothing)
            state.names.set(path, .folder)
        }
    }

    package func create(_ path: String) throws(FileFailure) -> any StoredFile {
        try enter(.create, path)
        let file = try real.create(path)
        let number = state.withLock { state in
            state.names.adopt(path, .nothing)
            let number = state.add(file, path: path, durable: [], seesIndex: seesIndex)
            state.names.set(path, .file(number))
            return number
        }
        return SimulatedFile(file, number: number, path: path, in: self)
    }

    package func open(_ path: String, writable: Bool) throws(FileFailure) -> any StoredFile {
        try enter(.open, path)
        let file = try real.open(path, writable: writable)
        return SimulatedFile(file, number: writable ? try adopt(path) : nil, path: path, in: self)
    }

    package func exists(_ path: String) -> Bool { real.exists(path) }

    package func rename(_ path: String, to newPath: String) throws(FileFailure) {
        try enter(.rename, path)
        _ = try adopt(path)
        _ = try adopt(newPath)
        try real.rename(path, to: newPath)
        state.withLock { $0.names.rename(path, to: newPath) }
    }

    package func move(_ path: String, toUnused newPath: String) throws(FileFailure) {
        guard !real.exists(newPath) else { throw FileFailure(.alreadyExists, "rename: the name is taken") }
        try rename(path, to: newPath)
    }

    package func names(in folder: String) throws(FileFailure) -> [String] {
        try enter(.list, folder)
        return try real.names(in: folder)
    }

    package func remove(_ path: String) throws(FileFailure) {
        try enter(.remove, path)
        guard try adopt(path) != nil else { return }
        let size = (try? real.size(of: path)) ?? 0
        try real.remove(path)
        giveBack(size)
        state.withLock { $0.names.set(path, .nothing) }
    }

    package func synchronizeDirectory(_ path: String) throws(FileFailure) {
        try enter(.synchronizeDirectory, path)
        state.withLock { $0.names.synchronize(path) }
    }

    package func size(of path: String) throws(FileFailure) -> Int64 { try real.size(of: path) }

    package func freeBytes(at path: String) throws(FileFailure) -> Int64 {
        if let free = state.withLock({ $0.free ?? $0.room }) { return free }
        return try real.freeBytes(at: path)
    }

    package func totalBytes(at path: String) throws(FileFailure) -> Int64? { state.withLock { $0.total } }

    /// The number of the file at a path; an unchanged file is on the disk in its current state.
    private func adopt(_ path: String) throws(FileFailure) -> Int? {
        switch state.withLock({ $0.names.current[path] }) {
        case .file(let number)?: return number
        case .nothing?, .folder?: return nil
        case nil: break
        }
        guard real.exists(path) else {
            state.withLock { $0.names.adopt(path, .nothing) }
            return nil
        }
        let file = try real.open(path, writable: true)
        let content = try file.read(count: Int(try file.size()), at: 0)
        return state.withLock { state in
            let number = state.add(file, path: path, durable: content, seesIndex: seesIndex)
            state.names.adopt(path, .file(number))
            return number
        }
    }

    /// Changes the recorded state of a file's content.
    func change(_ number: Int?, _ body: (inout SimulatedContent) -> Void) {
        guard let number else { return }
        state.withLock { body(&$0.files[number].content) }
    }

    // MARK: SQLite's operations

    /// Records that SQLite has opened a file, which it may have created.
    func sqliteOpened(_ path: String, isNew: Bool) throws(FileFailure) {
        guard state.withLock({ isNew || $0.names.current[path] == nil }) else { return }
        guard isNew else {
            _ = try adopt(path)
            return
        }
        let file = try real.open(path, writable: true)
        state.withLock { state in
            state.names.adopt(path, .nothing)
            let number = state.add(file, path: path, durable: [], seesIndex: true)
            state.names.set(path, .file(number))
        }
    }

    func sqliteWrote(_ range: Range<Int64>, _ path: String) { change(number(at: path)) { $0.wrote(range) } }

    /// SQLite syncs the folder of a new log together with the log.
    func sqliteSynchronized(_ path: String) throws(FileFailure) {
        if let (number, volatile) = try volatile(at: path) { change(number) { $0.synchronized(volatile) } }
        state.withLock { $0.names.synchronize(PosixFileSystem.folder(of: path)) }
    }

    func sqliteFailedToSynchronize(_ path: String) {
        guard let (number, volatile) = try? volatile(at: path) else { return }
        change(number) { $0.failedToSynchronize(volatile) }
    }

    func sqliteRemoved(_ path: String) { state.withLock { $0.names.set(path, .nothing) } }

    private func number(at path: String) -> Int? {
        guard case .file(let number)? = state.withLock({ $0.names.current[path] }) else { return nil }
        return number
    }

    /// Uses the kept descriptor: closing one would release SQLite's locks with it.
    private func volatile(at path: String) throws(FileFailure) -> (Int, [UInt8])? {
        guard let number = number(at: path) else { return nil }
        let file = state.withLock { $0.files[number].file }
        return (number, try file.read(count: Int(try file.size()), at: 0))
    }

    // MARK: Power loss

    /// Writes what the disk would hold after a power loss at this moment into the new folder `copy`. The same seed
    /// gives the same outcome.
    package func loseEverythingUnsynced(tearing seed: UInt64, into copy: String) throws {
        var dice = PowerLossDice(seed: seed)
        let (survivors, files) = state.withLock { state in (state.names.survivors(&dice), state.files) }
        let manager = FileManager.default
        try manager.createDirectory(atPath: copy, withIntermediateDirectories: true)
        let lostFolders = survivors.filter { $0.value == .nothing && isFolder($0.key) }.map { $0.key + "/" }
        func isLost(_ path: String) -> Bool { lostFolders.contains { (path + "/").hasPrefix($0) } }
        for relative in (try manager.subpathsOfDirectory(atPath: root)).sorted() {
            let path = root + "/" + relative
            guard !isLost(path), !path.hasSuffix("-shm") else { continue }
            if isFolder(path) {
                try manager.createDirectory(atPath: copy + "/" + relative, withIntermediateDirectories: true)
            } else if survivors[path] == nil {
                // Not changed through this file system: SQLite's log, the lock.
                try manager.copyItem(atPath: path, toPath: copy + "/" + relative)
            }
        }
        for (path, entry) in survivors.sorted(by: { $0.key < $1.key }) {
            // Files elsewhere are on another disk.
            guard case .file(let number) = entry, !isLost(path), path.hasPrefix(root + "/") else { continue }
            let record = files[number]
            let volatile = try record.file.read(count: Int(try record.file.size()), at: 0)
            let content = record.syncsItself ? volatile : record.content.torn(volatile, &dice)
            try real.create(copy + path.dropFirst(root.count)).write(content, at: 0)
        }
    }

    private func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }
}
