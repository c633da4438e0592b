import VaultModel

/// A file that holds some room while there is any: on a disk without a free byte it is given up for what makes room, and
/// for what must be written to open the vault.
struct Reserve: Sendable {
    /// What it holds: enough for SQLite's side files, and for rows that are deleted.
    static let byteCount: Int64 = 4 << 20
    /// What is not more than this is given up as a whole.
    private static let leastByteCount: Int64 = 1 << 20
    /// It is made where so many of it are free.
    private static let freeFor: Int64 = 4

    private let path: String
    private let folder: String
    private let fileSystem: any FileSystem

    init(in folder: String, fileSystem: any FileSystem) {
        path = folder + "/reserve"
        self.folder = folder
        self.fileSystem = fileSystem
    }

    /// Makes it where it is not, and there is room. What cannot be made now is made another time.
    func keep() {
        guard (try? fileSystem.size(of: path)) != Self.byteCount,
            let free = try? fileSystem.freeBytes(at: folder), free >= Self.freeFor * Self.byteCount
        else { return }
        do throws(FileFailure) {
            try fileSystem.remove(path)
            try fileSystem.create(path).allocate(Self.byteCount)
        } catch {
            // Half of it would only be in the way.
            try? fileSystem.remove(path)
        }
    }

    /// Gives up half of it, or all of what is little: who comes next may need the rest.
    ///
    /// - Returns: whether there was one.
    private func giveUp() -> Bool {
        guard let size = try? fileSystem.size(of: path) else { return false }
        do throws(FileFailure) {
            guard size > Self.leastByteCount else { throw FileFailure(.noSpace, "it is little") }
            try fileSystem.open(path, writable: true).truncate(to: size / 2)
            return true
        } catch {
            return (try? fileSystem.remove(path)) != nil
        }
    }

    /// Does something; as long as the disk is full, gives some of the reserve up for it and does it again.
    func givenUp<Result>(for body: () throws -> Result) throws -> Result {
        while true {
            do {
                return try body()
            } catch let error as VaultError where isLackOfRoom(error) {
                guard giveUp() else { throw Self.noRoom(error) }
            }
        }
    }

    private static func noRoom(_ error: VaultError) -> VaultError {
        guard error.code != .diskFull else { return error }
        return VaultError(
            .diskFull, "there is no room left on the disk for the side files of the index; make room and try again")
    }

    /// A file that cannot be made for lack of room is to SQLite one that cannot be opened.
    private func isLackOfRoom(_ error: VaultError) -> Bool {
        error.code == .diskFull
            || error.code == .storage && ((try? fileSystem.freeBytes(at: folder)) ?? .max) < StorageQuota.step
    }
}
