import Foundation
import GRDB
import VaultModel

/// The two copies of a vault's catalog: `catalog.backup`, and `catalog.backup.1`, the previous one.
///
/// They are written in turn, so that neither a failed write nor a full disk can destroy both. An erasure replaces both,
/// so that nothing erased can be restored from either.
struct CatalogFiles: Sendable {
    let folder: String

    init(in folder: String) { self.folder = folder }

    /// The path of the newest copy.
    var newest: String { folder + "/catalog.backup" }
    /// The path of the previous copy.
    var former: String { newest + ".1" }
    /// Both paths, in the order in which they are read.
    var all: [String] { [newest, former] }
    /// The suffix of a copy that is still being written.
    static let unfinished = ".new"
    /// The paths of the files that a process leaves behind if it is killed while writing a copy.
    var temporary: [String] { all.map { $0 + Self.unfinished } }

    /// Returns whether a copy exists.
    func exist(_ fileSystem: any FileSystem = PosixFileSystem()) -> Bool { all.contains { fileSystem.exists($0) } }

    /// The error for a vault without a copy.
    var absence: VaultError {
        VaultError(
            .noVault,
            "there is no catalog.backup at \(folder): without it no segment opens and nothing can be rebuilt")
    }

    /// Runs `body` on the newest copy that can be read.
    ///
    /// - Parameter body: receives the path and the database of a copy. If it finds the copy damaged, the copy is
    ///   skipped.
    /// - Throws: the error for the last copy tried; ``VaultError`` with code `noVault` if there is no copy.
    func reading<Result>(_ body: (_ path: String, Database) throws -> Result) throws -> Result {
        try trying { path in try IndexDatabase.reading(path, .ofCatalog) { db in try body(path, db) } }
    }

    /// Tries the copies in turn until one can be read.
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

    /// Runs `body` on one copy. Returns nil if the copy is not a regular file, is not a catalog, or is damaged as a
    /// whole.
    ///
    /// - Throws: ``VaultError`` with code `storage` if the copy cannot be read at present, for example because no file
    ///   descriptor is free. Its contents are then unknown.
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

    /// Requires that each copy is either readable or permanently damaged.
    ///
    /// - Throws: ``VaultError`` with code `storage` if a copy cannot be read at present.
    func requireReadable() throws { for path in all { _ = try reading(only: path) { _ in } } }

    /// How valuable a copy is.
    private enum Worth {
        /// The copy has an unreadable page, or it has no titles, like the catalog of a new vault.
        case nothing
        /// The copy has titles, and all its pages can be read.
        case titles
        /// The copy cannot be read at present.
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

    /// Returns whether the two copies are identical, as they are after an erasure, so that neither has anything that
    /// the other lacks.
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

    /// Installs a new copy that is already durable under its temporary name.
    ///
    /// The newest copy becomes the previous one, unless it has an unreadable page or no titles. In that case, if the
    /// previous copy is missing or is no better, it is replaced with a duplicate of the new one.
    ///
    /// - Parameters:
    ///   - forgetting: whether to replace the previous copy with the new one even if it is usable, so that nothing
    ///     erased remains.
    ///   - unread: the copies that could not be read when the new one was written. Such a copy is kept, because its
    ///     contents may be nowhere else. If neither could be read, only the previous one is kept.
    func put(_ temporary: String, forgetting: Bool, unread: Set<String> = [], _ fileSystem: any FileSystem) throws {
        let worth: Worth = forgetting ? .nothing : unread.contains(newest) ? .unknown : worth(of: newest)
        let isKept = worth != .nothing && !unread.contains(former)
        // A failed rename is ignored, whatever is at the previous copy's path, because the new copy is worth more.
        if isKept { try? fileSystem.rename(newest, to: former) }
        try fileSystem.rename(temporary, to: newest)
        try fileSystem.synchronizeDirectory(folder)
        let isDue = forgetting || !isKept && !unread.contains(former) && self.worth(of: former) == .nothing
        if isDue { try renewFormer(fileSystem) }
    }

    private static let pageBytes: Int64 = 1 << 20

    /// Replaces the previous copy with a duplicate of the newest. If that fails, as on a full disk, the previous copy
    /// is removed.
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
