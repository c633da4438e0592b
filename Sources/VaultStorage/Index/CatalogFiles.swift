import Foundation
import GRDB
import VaultModel

/// The two copies of a vault's catalog: `catalog.backup`, and `catalog.backup.1`, which was that before.
///
/// They are written in turn, so that neither a bad write nor a full disk destroys both. An erasure replaces both: nothing
/// that was erased comes back from either.
struct CatalogFiles: Sendable {
    let folder: String

    init(in folder: String) { self.folder = folder }

    /// The copy that was written last.
    var newest: String { folder + "/catalog.backup" }
    /// The copy before.
    var former: String { newest + ".1" }
    /// In the order in which they are read.
    var all: [String] { [newest, former] }
    /// The end of the name of a copy that is being written.
    static let unfinished = ".new"
    /// Files that are left if a process was killed while it wrote.
    var temporary: [String] { all.map { $0 + Self.unfinished } }

    /// Returns whether there is a copy.
    func exist(_ fileSystem: any FileSystem = PosixFileSystem()) -> Bool { all.contains { fileSystem.exists($0) } }

    /// The error for a vault without a copy.
    var absence: VaultError {
        VaultError(
            .noVault,
            "there is no catalog.backup at \(folder): without it no segment opens and nothing can be rebuilt")
    }

    /// Runs work on the copy that was written last and can be read.
    ///
    /// - Parameter body: receives the path of a copy and its rows; one that it finds damaged is passed over.
    /// - Throws: what the work throws for the last copy that there is; ``VaultError`` with code `noVault` if there is
    ///   none.
    func reading<Result>(_ body: (_ path: String, Database) throws -> Result) throws -> Result {
        try trying { path in try IndexDatabase.reading(path, .ofCatalog) { db in try body(path, db) } }
    }

    /// Tries the copies in turn, until one is not damaged.
    func trying<Result>(_ body: (_ path: String) throws -> Result) throws -> Result {
        var failure: any Error = absence
        for path in all where FileManager.default.fileExists(atPath: path) {
            do {
                return try body(path)
            } catch let error as VaultError where [.integrity, .noVault, .storage].contains(error.code) {
                failure = error
            }
        }
        throw failure
    }

    /// Runs work on one copy; nil if it is no regular file, no catalog, or damaged as a whole.
    ///
    /// - Throws: ``VaultError`` with code `storage` if it cannot be read now, such as without a free descriptor: then
    ///   nobody knows what it has.
    func reading<Result>(only path: String, _ body: (Database) throws -> Result) throws -> Result? {
        guard try RegularFile.exists(path) else { return nil }
        do {
            return try IndexDatabase.reading(path, .ofCatalog, body)
        } catch let error as VaultError where [.integrity, .noVault].contains(error.code) {
            return nil
        } catch let error as VaultError where error.code == .storage {
            throw VaultError(
                .storage,
                "the catalog \(path) cannot be read now, and may have what nothing else has (\(error.message)); try "
                    + "again, or move it away")
        }
    }

    /// Requires that each copy can be read, or is damaged for good.
    ///
    /// - Throws: ``VaultError`` with code `storage`.
    func requireReadable() throws { for path in all { _ = try reading(only: path) { _ in } } }

    /// What a copy is worth.
    private enum Worth {
        /// Nothing: it has a page that cannot be read, or no title, as that of a new vault.
        case nothing
        /// Its titles.
        case titles
        /// It cannot be read now.
        case unknown
    }

    private func worth(of path: String) -> Worth {
        do {
            let hasTitle = try reading(only: path) { db in
                try PageCheck.require(db)
                return try Bool.fetchOne(db, sql: "SELECT 1 FROM resource LIMIT 1") ?? false
            }
            return hasTitle ?? false ? .titles : .nothing
        } catch {
            return .unknown
        }
    }

    /// Returns whether both copies are the same byte for byte, as after an erasure: then neither has what the other lacks.
    func areSame(_ fileSystem: any FileSystem = PosixFileSystem()) -> Bool {
        guard let first = try? fileSystem.open(newest, writable: false), let size = try? first.size(),
            let second = try? fileSystem.open(former, writable: false), (try? second.size()) == size
        else { return false }
        return stride(from: 0, to: size, by: Int(Self.pageBytes)).allSatisfy { offset in
            guard let page = try? first.read(count: Int(Self.pageBytes), at: offset) else { return false }
            return page == (try? second.read(count: Int(Self.pageBytes), at: offset))
        }
    }

    // MARK: Writing

    /// Puts a new copy, which is durable under its temporary name, in place. The newest becomes the one before, unless it
    /// has a page that cannot be read, or no title: then the one before, if there is none, becomes a copy of the new one.
    ///
    /// - Parameters:
    ///   - forgetting: whether the one before becomes a copy of the new one in any case, so that nothing is left in it
    ///     that was erased.
    ///   - unread: copies that could not be read when the new one was written. What they have may be nowhere else, so
    ///     they stay; of two, the one before.
    func put(_ temporary: String, forgetting: Bool, unread: Set<String> = [], _ fileSystem: any FileSystem) throws {
        let worth: Worth = forgetting ? .nothing : unread.contains(newest) ? .unknown : worth(of: newest)
        let isKept = worth != .nothing && !unread.contains(former)
        // Whatever is in the place of the one before: a new copy is worth more.
        if isKept { try? fileSystem.rename(newest, to: former) }
        try fileSystem.rename(temporary, to: newest)
        try fileSystem.synchronizeDirectory(folder)
        let isDue = forgetting || !isKept && !unread.contains(former) && self.worth(of: former) == .nothing
        if isDue { try renewFormer(fileSystem) }
    }

    private static let pageBytes: Int64 = 1 << 20

    /// Replaces the copy before with one of the newest. Without space for it, the copy before is removed.
    private func renewFormer(_ fileSystem: any FileSystem) throws {
        let temporary = former + Self.unfinished
        do {
            try fileSystem.remove(temporary)
            let (source, copy) = (try fileSystem.open(newest, writable: false), try fileSystem.create(temporary))
            let size = try source.size()
            for offset in stride(from: 0, to: size, by: Int(Self.pageBytes)) {
                let count = Int(min(Self.pageBytes, size - offset))
                try copy.write(source.read(count: count, at: offset), at: offset)
            }
            try copy.synchronize()
            try fileSystem.rename(temporary, to: former)
        } catch {
            for path in [temporary, former] { try fileSystem.remove(path) }
        }
        try fileSystem.synchronizeDirectory(folder)
    }
}
