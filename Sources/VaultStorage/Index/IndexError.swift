import GRDB
import VaultModel

/// Runs index work and turns SQLite's errors into the vault's.
enum IndexError {
    static func translating<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw vaultError(error)
        } catch is RowDecodingError {
            throw damaged
        }
    }

    /// A row holds what this version never wrote.
    static var damaged: VaultError {
        VaultError(
            .integrity,
            "a row of the index fails its tag; remove the resource, or make the index anew with index rebuild")
    }

    private static func vaultError(_ error: DatabaseError) -> VaultError {
        switch cause(of: error) {
        case .SQLITE_FULL:
            VaultError(.diskFull, "the index cannot grow: there is no room left on the disk; make room and try again")
        case .SQLITE_CORRUPT, .SQLITE_NOTADB:
            VaultError(.integrity, "the index is damaged; make it anew with index rebuild")
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            VaultError(.owned, "another program is using the index; try again when it is done")
        case .SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM:
            VaultError(.storage, "the index cannot be opened; check owner and mode of the vault's folder")
        default:
            // SQLite's own words for the code; bound values and statements are not in them.
            VaultError(.storage, "the index refused: \(error.resultCode.rawValue) \(error.resultCode)")
        }
    }

    /// The log's index lies in a file of its own, which has its own words.
    private static func cause(of error: DatabaseError) -> ResultCode {
        switch error.extendedResultCode {
        case .SQLITE_IOERR_SHMSIZE: .SQLITE_FULL
        // To a reader that does not write it, while an owner that has just come makes it anew.
        case .SQLITE_READONLY_RECOVERY, .SQLITE_READONLY_CANTLOCK, .SQLITE_READONLY_CANTINIT: .SQLITE_BUSY
        default: error.resultCode
        }
    }
}
