import VaultModel

/// A file that keeps some disk space in reserve.
///
/// On a full disk, the file is given up to make space for work that frees space, and for writes that are necessary to
/// open the vault.
struct Reserve: Sendable {
    /// The size of the file in bytes, which is enough for SQLite's side files and for deleting rows.
    static let byteCount: Int64 = 4 << 20
    /// The size in bytes up to which the file is given up as a whole.
    private static let minByteCount: Int64 = 1 << 20
    /// The file is created only if the disk has this many times the file's size free.
    private static let minFreeMultiple: Int64 = 4

    private let path: String
    private let folder: String
    private let fileSystem: any FileSystem

    init(in folder: String, fileSystem: any FileSystem) {
        path = folder + "/reserve"
        self.folder = folder
        self.fileSystem = fileSystem
    }

    /// Creates the file, or restores its size, if there is space. After a failure, a later call tries again.
    func keep() {
        guard (try? fileSystem.size(of: path)) != Self.byteCount,
            let free = try? fileSystem.freeBytes(at: folder), free >= Self.minFreeMultiple * Self.byteCount
        else { return }
        do throws(FileFailure) {
            try fileSystem.remove(path)
            try fileSystem.create(path).allocate(Self.byteCount)
        } catch {
            // An incomplete file would only take up space.
            try? fileSystem.remove(path)
        }
    }

    /// Gives up half of the file, because a later call may need the rest, or all of it if it is small.
    ///
    /// - Returns: whether there was a file to give up.
    private func giveUp() -> Bool {
        guard let size = try? fileSystem.size(of: path) else { return false }
        do throws(FileFailure) {
            guard size > Self.minByteCount else { throw FileFailure(.noSpace, "the reserve is small") }
            try fileSystem.open(path, writable: true).truncate(to: size / 2)
            return true
        } catch {
            return (try? fileSystem.remove(path)) != nil
        }
    }

    /// Runs `body`. While it fails because the disk is full, gives up part of the reserve and tries again.
    func withReserve<Result>(for body: () throws -> Result) throws -> Result {
        while true {
            do {
                return try body()
            } catch let error as VaultError where meansFullDisk(error) {
                guard giveUp() else { throw Self.diskFull(error) }
            }
        }
    }

    private static func diskFull(_ error: VaultError) -> VaultError {
        guard error.code != .diskFull else { return error }
        return VaultError(
            .diskFull, "no space left on the disk for the side files of the index; free some space and try again")
    }

    /// Returns whether an error means that the disk is full.
    ///
    /// If SQLite cannot create a file for lack of space, it reports that the file cannot be opened.
    private func meansFullDisk(_ error: VaultError) -> Bool {
        error.code == .diskFull
            || error.code == .storage && ((try? fileSystem.freeBytes(at: folder)) ?? .max) < StorageQuota.step
    }
}
