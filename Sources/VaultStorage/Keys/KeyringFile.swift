import VaultCrypto
package import VaultModel

/// The keyring file, which lies outside the vault, has mode 0600, and is never half written.
package enum KeyringFile {
    /// Reads the file's bytes.
    ///
    /// - Throws: ``VaultError`` with code `noVault` if there is no such file.
    package static func read(_ path: String, fileSystem: any FileSystem = PosixFileSystem()) throws -> [UInt8] {
        do throws(FileFailure) {
            while true {
                let file = try fileSystem.open(path, writable: false)
                let bytes = try file.contents(atMost: KeyringDocument.maxBytesRead)
                // A file without a name has been replaced, and may have been overwritten while it was read. Read its
                // replacement.
                if try file.isLinked() { return bytes }
            }
        } catch {
            if error.kind == .notFound { throw absence(at: path) }
            throw error.vaultError("the keyring at \(path) cannot be read")
        }
    }

    /// Returns the error for a keyring that is missing at its path.
    package static func absence(at path: String) -> VaultError {
        VaultError(
            .noVault,
            "there is no keyring at \(path); give the path of the vault's keyring, or restore it from a backup",
            hint: .findKeyring)
    }

    /// Writes the file under a temporary name, syncs it, renames it, and syncs the folder.
    ///
    /// It then overwrites the former file with zeros, as far as possible, because that file may hold removed keys.
    ///
    /// - Throws: ``VaultError`` with code `storage` or `diskFull`; the former file is then intact and still in place.
    package static func write(
        _ bytes: [UInt8], to path: String, fileSystem: any FileSystem = PosixFileSystem()
    ) throws {
        // The former files are held open, because nothing else leads to their blocks once they have lost their names.
        let former = try [path, path + ".new"].compactMap { try overwritable($0, fileSystem) }
        let old = try? fileSystem.contents(of: path, atMost: KeyringDocument.maxBytesRead)
        do throws(FileFailure) {
            try fileSystem.replace(path, with: bytes)
        } catch {
            // If only the sync of the folder failed, the path already leads to the new file, whose keys no caller uses.
            // Put the old bytes back.
            if let old, (try? fileSystem.contents(of: path)) == bytes { try? fileSystem.replace(path, with: old) }
            throw error.vaultError("the keyring at \(path) cannot be written")
        }
        // The new file is durable, and a failure to overwrite the former one does not undo that. A former file that has
        // another name is a copy that someone keeps, so it is not overwritten.
        for file in former where (try? file.isLinked()) == false { try? overwrite(file) }
    }

    /// Opens a file that is to be overwritten once another file has taken its name; returns nil if there is nothing to
    /// overwrite.
    ///
    /// - Throws: ``VaultError`` with code `storage` if the file cannot be opened for writing, because its keys would
    ///   then silently stay on the disk.
    private static func overwritable(_ path: String, _ fileSystem: any FileSystem) throws -> (any StoredFile)? {
        do throws(FileFailure) {
            do throws(FileFailure) {
                return try fileSystem.open(path, writable: true)
            } catch {
                // A symbolic link at the temporary path is removed, not followed, and a pipe or a device there has no
                // keys.
                guard ![.notFound, .symbolicLink, .notRegular].contains(error.kind) else { return nil }
                // The owner may have removed their own permission to write to the file.
                try fileSystem.makePrivate(path)
                return try fileSystem.open(path, writable: true)
            }
        } catch {
            throw error.vaultError(
                "nothing was written, because the file \(path) could not be overwritten with zeros afterwards; make "
                    + "it writable")
        }
    }

    /// Overwrites a file's bytes with zeros, and syncs the file.
    ///
    /// It overwrites at most as many bytes as a readable keyring may have, because anything beyond them is not key
    /// material, and could be a hole that is larger than the disk.
    private static func overwrite(_ file: any StoredFile) throws(FileFailure) {
        let count = min(try file.size(), Int64(KeyringDocument.maxBytesRead))
        try file.write([UInt8](repeating: 0, count: Int(count)), at: 0)
        try file.synchronize()
    }

    /// Makes the keys in the file unreadable, and also those in a half-written file that was to replace it.
    ///
    /// The bytes are overwritten with zeros and synced. Then the names are removed, and their folder is synced. The old
    /// blocks may survive on a file system that does not write in place, and on a drive that spreads its writes. The
    /// keys in those blocks are sealed, and the secrets that unlock them must be destroyed separately.
    package static func destroy(_ path: String, fileSystem: any FileSystem = PosixFileSystem()) throws {
        do throws(FileFailure) {
            // The file itself may already be gone if an earlier attempt failed. If neither file exists, the keyring is
            // elsewhere, and opening `path` fails below.
            var names = [path, path + ".new"].filter { fileSystem.exists($0) }
            if names.isEmpty { names = [path] }
            for name in names {
                try? fileSystem.makePrivate(name)
                try overwrite(try fileSystem.open(name, writable: true))
            }
            for name in names { try fileSystem.remove(name) }
            try fileSystem.synchronizeDirectory(PosixFileSystem.folder(of: path))
        } catch {
            throw error.vaultError("the keyring at \(path) cannot be destroyed")
        }
    }

    /// Creates the file of a new keyring. It never replaces an existing file.
    ///
    /// If several processes create one at the same time, only one succeeds.
    ///
    /// - Throws: ``VaultError`` with code `busy` if another process has created the file first.
    package static func make(
        _ bytes: [UInt8], at path: String, fileSystem: any FileSystem = PosixFileSystem()
    ) throws {
        do {
            // Each process uses its own temporary name, so that another process's half-written file cannot become this
            // one's keyring.
            let name = path + "." + Hex.encode(try SecureRandom.bytes(8, "file name")) + unfinished
            try writeNew(bytes, to: path, as: name, fileSystem: fileSystem)
        } catch let error as VaultError where error.code == .invalidArgument {
            throw VaultError(.busy, "another program has just created a keyring at \(path); try again to use that one")
        }
    }

    /// Writes a file that must not exist yet, either completely and durably or not at all.
    ///
    /// - Parameter temporary: the file's path while it is written; nil for the default. A file that an interrupted run
    ///   left behind at this path is removed first.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the file already exists.
    package static func writeNew(
        _ bytes: [UInt8], to path: String, as temporary: String? = nil, fileSystem: any FileSystem = PosixFileSystem()
    ) throws {
        let temporary = temporary ?? path + unfinished
        do throws(FileFailure) {
            try fileSystem.remove(temporary)
            let file = try fileSystem.create(temporary)
            do throws(FileFailure) {
                try file.write(bytes, at: 0)
                try file.synchronize()
                try fileSystem.move(temporary, toUnused: path)
            } catch {
                // An incomplete file is useless. A failure to remove it is ignored, because the caller needs the first
                // failure.
                try? fileSystem.remove(temporary)
                throw error
            }
            try fileSystem.synchronizeDirectory(PosixFileSystem.folder(of: path))
        } catch {
            guard error.kind != .alreadyExists else {
                throw taken(path)
            }
            throw error.vaultError("the file \(path) cannot be written")
        }
    }

    /// Returns the error for a path at which a file exists that must not be overwritten.
    package static func taken(_ path: String) -> VaultError {
        VaultError(.invalidArgument, "\(path) already exists; name another file")
    }

    /// The suffix of a file that is still being written.
    private static let unfinished = ".part"

    /// Returns the paths of the copies that ``keep(_:of:fileSystem:)`` made, including incomplete ones.
    static func copies(of path: String, fileSystem: any FileSystem) throws -> [String] {
        let folder = PosixFileSystem.folder(of: path)
        do throws(FileFailure) {
            return try fileSystem.names(in: folder).map { "\(folder)/\($0)" }.filter {
                guard $0.hasPrefix(path + ".replaced") else { return false }
                var rest = $0.dropFirst(path.count + ".replaced".count)
                if rest.hasSuffix(unfinished) { rest.removeLast(unfinished.count) }
                return rest.isEmpty || rest.first == "-" && Int(rest.dropFirst()) != nil
            }
        } catch {
            throw error.vaultError("the folder of the keyring \(path) cannot be read")
        }
    }

    /// Saves a copy of a keyring file beside it before another file takes its place.
    ///
    /// - Returns: the path of the copy.
    package static func keep(
        _ bytes: [UInt8], of path: String, fileSystem: any FileSystem = PosixFileSystem()
    ) throws -> String {
        var copy = path + ".replaced"
        var number = 1
        while fileSystem.exists(copy) {
            // An interrupted run has already saved this copy.
            if (try? fileSystem.contents(of: copy, atMost: bytes.count)) == bytes { return copy }
            number += 1
            copy = path + ".replaced-\(number)"
        }
        try writeNew(bytes, to: copy, fileSystem: fileSystem)
        return copy
    }
}

/// The location of a vault's keyring: a path and the file system that has it.
package struct KeyringPlace: Sendable {
    /// The absolute path of the file.
    package let path: String
    private let fileSystem: any FileSystem

    package init(_ path: String, fileSystem: any FileSystem = PosixFileSystem()) {
        self.path = path
        self.fileSystem = fileSystem
    }

    /// Returns the file's bytes.
    ///
    /// - Throws: ``VaultError`` with code `noVault` or `storage`.
    package func read() throws -> [UInt8] { try KeyringFile.read(path, fileSystem: fileSystem) }

    /// Replaces the file's bytes durably.
    ///
    /// - Throws: ``VaultError`` with code `storage` or `diskFull`.
    package func write(_ bytes: [UInt8]) throws { try KeyringFile.write(bytes, to: path, fileSystem: fileSystem) }

    /// Whether the file exists.
    var isThere: Bool { fileSystem.exists(path) }

    /// Whether the file has these bytes; false if it cannot be read.
    func holds(_ bytes: [UInt8]) -> Bool { (try? read()) == bytes }

    /// Makes the file's keys unreadable, and removes the file.
    ///
    /// - Throws: ``VaultError`` with code `storage`.
    func destroy() throws { try KeyringFile.destroy(path, fileSystem: fileSystem) }

    /// Destroys the copies of a vault's keyring that were saved when a backup replaced the file.
    ///
    /// The copies hold keys of generations that are retired in this keyring. Copies of another vault's keyring are
    /// kept. A copy that does not show which vault it belongs to is destroyed.
    ///
    /// - Throws: ``VaultError`` with code `storage`.
    package func destroyCopies(of vault: VaultID) throws {
        for copy in try KeyringFile.copies(of: path, fileSystem: fileSystem) {
            let bytes = try KeyringFile.read(copy, fileSystem: fileSystem)
            guard (try? KeyringReader.vaultID(of: bytes)).map({ $0 == vault }) ?? true else { continue }
            try KeyringFile.destroy(copy, fileSystem: fileSystem)
        }
    }
}
