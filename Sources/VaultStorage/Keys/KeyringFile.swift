import VaultCrypto
package import VaultModel

/// The keyring file: outside the vault, with mode 0600, never half written.
package enum KeyringFile {
    /// Reads the file's bytes.
    ///
    /// - Throws: ``VaultError`` with code `noVault` if there is none.
    package static func read(_ path: String, fileSystem: any FileSystem = PosixFileSystem()) throws -> [UInt8] {
        do throws(FileFailure) {
            while true {
                let file = try fileSystem.open(path, writable: false)
                let bytes = try file.contents(atMost: KeyringDocument.maxBytesRead)
                // A file that has lost its name is overwritten, perhaps while it was read. Another file has taken its
                // place.
                if try file.isLinked() { return bytes }
            }
        } catch {
            if error.kind == .notFound { throw absence(at: path) }
            throw error.vaultError("the keyring at \(path) cannot be read")
        }
    }

    /// Returns the error for a vault's keyring that is not at its path.
    package static func absence(at path: String) -> VaultError {
        VaultError(
            .noVault,
            "there is no keyring at \(path); give the path of the vault's keyring, or restore it from a backup",
            hint: .findKeyring)
    }

    /// Writes the file under a temporary name, syncs it, renames it, and syncs the folder.
    ///
    /// Then it overwrites the former file, which may hold removed keys, with zeros, as far as possible.
    ///
    /// - Throws: ``VaultError`` with code `storage` or `diskFull`; the former file is then intact, and in its place.
    package static func write(
        _ bytes: [UInt8], to path: String, fileSystem: any FileSystem = PosixFileSystem()
    ) throws {
        // Held open, because nothing else leads to their blocks once they have lost their names.
        let former = try [path, path + ".new"].compactMap { try overwritable($0, fileSystem) }
        let old = try? fileSystem.contents(of: path, atMost: KeyringDocument.maxBytesRead)
        do throws(FileFailure) {
            try fileSystem.replace(path, with: bytes)
        } catch {
            // If only the sync of the name failed, the name already leads to the new file, which no caller has adopted.
            if let old, (try? fileSystem.contents(of: path)) == bytes { try? fileSystem.replace(path, with: old) }
            throw error.vaultError("the keyring at \(path) cannot be written")
        }
        // The new file is durable, and no failure here undoes that. A file with another name is a copy that someone
        // keeps.
        for file in former where (try? file.isLinked()) == false { try? overwrite(file) }
    }

    /// Opens a file that is to be overwritten once another file has its name; nil if there is none.
    ///
    /// - Throws: ``VaultError`` with code `storage` if it cannot be written, since its keys would silently stay on the
    ///   disk.
    private static func overwritable(_ path: String, _ fileSystem: any FileSystem) throws -> (any StoredFile)? {
        do throws(FileFailure) {
            do throws(FileFailure) {
                return try fileSystem.open(path, writable: true)
            } catch {
                // A link under the temporary name is removed, not followed; a pipe or a device there has no keys.
                guard ![.notFound, .symbolicLink, .notRegular].contains(error.kind) else { return nil }
                // Its owner may have removed their own write permission.
                try fileSystem.makePrivate(path)
                return try fileSystem.open(path, writable: true)
            }
        } catch {
            throw error.vaultError(
                "nothing was written, because the file \(path) could not be overwritten with zeros afterwards; make "
                    + "it writable")
        }
    }

    /// Writes zeros over a file's bytes, synced.
    ///
    /// Only as many bytes are overwritten as a readable keyring may have: anything behind them is not key material, and
    /// could be a hole that is larger than the disk.
    private static func overwrite(_ file: any StoredFile) throws(FileFailure) {
        let count = min(try file.size(), Int64(KeyringDocument.maxBytesRead))
        try file.write([UInt8](repeating: 0, count: Int(count)), at: 0)
        try file.synchronize()
    }

    /// Makes the keys unreadable, both in the file and in a half-written file that was to replace it.
    ///
    /// The bytes are overwritten with zeros and synced. Then the names are removed, and their folder is synced. The old
    /// blocks may survive on a file system that does not write in place, and on a drive that spreads its writes: the
    /// keys in them are sealed, and what unlocks them must be destroyed separately.
    package static func destroy(_ path: String, fileSystem: any FileSystem = PosixFileSystem()) throws {
        do throws(FileFailure) {
            // The file itself may be gone if this failed before. If neither exists, the keyring is elsewhere, and
            // opening it here fails.
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

    /// Creates the file of a new keyring. It never replaces a file.
    ///
    /// If several processes create one at the same time, only one succeeds.
    ///
    /// - Throws: ``VaultError`` with code `busy` if the file exists by then.
    package static func make(
        _ bytes: [UInt8], at path: String, fileSystem: any FileSystem = PosixFileSystem()
    ) throws {
        do {
            // A temporary name of its own: another process's half-written file must not become this one's keyring.
            let name = path + "." + Hex.encode(try SecureRandom.bytes(8, "file name")) + unfinished
            try writeNew(bytes, to: path, as: name, fileSystem: fileSystem)
        } catch let error as VaultError where error.code == .invalidArgument {
            throw VaultError(.busy, "another program has just created a keyring at \(path); try again to use that one")
        }
    }

    /// Writes a file that must not exist yet: all of it, durably, or nothing.
    ///
    /// - Parameter temporary: its name while it is written; nil for the default, which an interrupted run may have left
    ///   behind.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the file exists.
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
                // An incomplete file is useless. The caller needs the first failure.
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

    /// Returns the error for a path that is in use, where nothing may be overwritten.
    package static func taken(_ path: String) -> VaultError {
        VaultError(.invalidArgument, "\(path) already exists; name another file")
    }

    /// The suffix of a file while it is written.
    private static let unfinished = ".part"

    /// Returns the copies that ``keep(_:of:fileSystem:)`` made, including incomplete ones.
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

    /// Keeps a copy of a keyring file beside it, before another file takes its place.
    ///
    /// - Returns: the path of the copy.
    package static func keep(
        _ bytes: [UInt8], of path: String, fileSystem: any FileSystem = PosixFileSystem()
    ) throws -> String {
        var copy = path + ".replaced"
        var number = 1
        while fileSystem.exists(copy) {
            // An interrupted run has kept it already.
            if (try? fileSystem.contents(of: copy, atMost: bytes.count)) == bytes { return copy }
            number += 1
            copy = path + ".replaced-\(number)"
        }
        try writeNew(bytes, to: copy, fileSystem: fileSystem)
        return copy
    }
}

/// The place of a vault's keyring while it is changed.
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

    /// Makes the file's keys unreadable, and removes it.
    ///
    /// - Throws: ``VaultError`` with code `storage`.
    func destroy() throws { try KeyringFile.destroy(path, fileSystem: fileSystem) }

    /// Destroys the copies of a vault's keyring that were kept when a backup replaced the file.
    ///
    /// They hold keys of generations that are retired here. Copies of another vault's keyring are kept.
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
