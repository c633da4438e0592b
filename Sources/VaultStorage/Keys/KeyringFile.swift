package import VaultCrypto
package import VaultModel

/// The keyring's file: outside the vault, 0600, never half written.
package enum KeyringFile {
    /// Reads the file's bytes.
    ///
    /// - Throws: ``VaultError`` with code `noVault` where there is none.
    package static func read(_ path: String, fileSystem: any FileSystem = PosixFileSystem()) throws -> [UInt8] {
        do throws(FileFailure) {
            while true {
                let file = try fileSystem.open(path, writable: false)
                let bytes = try file.contents(atMost: KeyringDocument.mostBytesRead)
                // What has no name any more is overwritten, perhaps while it was read: another has taken its place.
                if try file.hasName() { return bytes }
            }
        } catch {
            if error.kind == .notFound {
                throw VaultError(.noVault, "there is no keyring at \(path); make one with init, or name its file")
            }
            throw error.vaultError("the keyring at \(path) cannot be read")
        }
    }

    /// Writes the file anew: temporary name, synced, renamed, folder synced. Then the one that was there, which may hold
    /// keys that are gone now, is overwritten with zeros as far as it can be.
    ///
    /// - Throws: ``VaultError`` with code `storage` or `diskFull`: then the one that was there is whole, and in its place.
    package static func write(
        _ bytes: [UInt8], to path: String, fileSystem: any FileSystem = PosixFileSystem()
    ) throws {
        // Held open: without a name nothing else leads to their blocks.
        let former = try [path, path + ".new"].compactMap { try overwritable($0, fileSystem) }
        let old = try? fileSystem.contents(of: path, atMost: KeyringDocument.mostBytesRead)
        do throws(FileFailure) {
            try fileSystem.replace(path, with: bytes)
        } catch {
            // Where the name could not be made durable it leads to the new one already, and nobody has taken that over.
            if let old, (try? fileSystem.contents(of: path)) == bytes { try? fileSystem.replace(path, with: old) }
            throw error.vaultError("the keyring at \(path) cannot be written")
        }
        // The new one is durable, and no failure here takes that back. One that has another name is somebody's copy.
        for file in former where (try? file.hasName()) == false { try? overwrite(file) }
    }

    /// Opens a file that is to be overwritten once another has its name; nil where there is none.
    ///
    /// - Throws: ``VaultError`` with code `storage` where it cannot be written: its keys would stay on the disk, and nobody
    ///   would be told.
    private static func overwritable(_ path: String, _ fileSystem: any FileSystem) throws -> (any StoredFile)? {
        do throws(FileFailure) {
            do throws(FileFailure) {
                return try fileSystem.open(path, writable: true)
            } catch {
                // A link in the temporary name's place is removed, not followed.
                guard ![.notFound, .symbolicLink].contains(error.kind) else { return nil }
                // Its owner may have taken their own right to write away.
                try fileSystem.makePrivate(path)
                return try fileSystem.open(path, writable: true)
            }
        } catch {
            throw error.vaultError(
                "nothing was written, because the file \(path) could not be overwritten with zeros after it; make it "
                    + "writable")
        }
    }

    /// Writes zeros over a file's bytes, synced.
    private static func overwrite(_ file: any StoredFile) throws(FileFailure) {
        try file.write([UInt8](repeating: 0, count: Int(try file.size())), at: 0)
        try file.synchronize()
    }

    /// Makes the file's keys unreadable, and those of one that was half written to take its place: zeros over the bytes,
    /// synced, then the names gone, their folder synced.
    ///
    /// On a file system that writes elsewhere than it read, and on a drive that spreads its writes, the old blocks may
    /// outlive this: they are sealed, and what unlocks them is another matter.
    package static func destroy(_ path: String, fileSystem: any FileSystem = PosixFileSystem()) throws {
        do throws(FileFailure) {
            // The file itself may be gone, where the last of this failed. Where both are it lies somewhere else.
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

    /// Makes the file of a new keyring. One that is there stays, however shortly before it came: of several that make one
    /// at the same time, one does.
    ///
    /// - Throws: ``VaultError`` with code `busy` where there is one now.
    package static func make(
        _ bytes: [UInt8], at path: String, fileSystem: any FileSystem = PosixFileSystem()
    ) throws {
        do {
            // A name of its own while it is written: another's half file must not become this one's keyring.
            let name = path + "." + Hex.encode(try SecureRandom.bytes(8, "file name")) + unfinished
            try writeNew(bytes, to: path, as: name, fileSystem: fileSystem)
        } catch let error as VaultError where error.code == .invalidArgument {
            throw VaultError(.busy, "another program has just made a keyring at \(path); run it again to use that one")
        }
    }

    /// Writes a file that must not be there yet: all of it, durably, or nothing.
    ///
    /// - Parameter temporary: its name while it is written; nil for the usual one, which a run that was killed may have left.
    /// - Throws: ``VaultError`` with code `invalidArgument` where there is something.
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
                try fileSystem.move(temporary, toFree: path)
            } catch {
                // Half a file is none. The failure that counts is the one at hand.
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

    /// Why nothing is written over what is there.
    package static func taken(_ path: String) -> VaultError {
        VaultError(.invalidArgument, "there is something at \(path) already; name another file")
    }

    /// What the name of a file ends with while it is written.
    private static let unfinished = ".part"

    /// The copies that ``keep(_:of:fileSystem:)`` has made, and those that it was killed in the middle of.
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

    /// Keeps a copy of a keyring's file beside it, before another takes its place.
    ///
    /// - Returns: where the copy is.
    package static func keep(
        _ bytes: [UInt8], of path: String, fileSystem: any FileSystem = PosixFileSystem()
    ) throws -> String {
        var copy = path + ".replaced"
        var number = 1
        while fileSystem.exists(copy) {
            // A run that was killed has kept it already.
            if (try? fileSystem.contents(of: copy, atMost: bytes.count)) == bytes { return copy }
            number += 1
            copy = path + ".replaced-\(number)"
        }
        try writeNew(bytes, to: copy, fileSystem: fileSystem)
        return copy
    }
}

/// Where the keyring of a vault lies while it is changed.
package struct KeyringPlace: Sendable {
    /// The absolute path of the file.
    package let path: String
    private let fileSystem: any FileSystem

    package init(_ path: String, fileSystem: any FileSystem = PosixFileSystem()) {
        self.path = path
        self.fileSystem = fileSystem
    }

    /// The file's bytes.
    ///
    /// - Throws: ``VaultError`` with code `noVault` or `storage`.
    package func read() throws -> [UInt8] { try KeyringFile.read(path, fileSystem: fileSystem) }

    /// Puts other bytes in the place of the file's, and makes them durable.
    ///
    /// - Throws: ``VaultError`` with code `storage` or `diskFull`.
    package func write(_ bytes: [UInt8]) throws { try KeyringFile.write(bytes, to: path, fileSystem: fileSystem) }

    /// Whether there is a file.
    var isThere: Bool { fileSystem.exists(path) }

    /// Whether the file's bytes are these; false where it cannot be read.
    func holds(_ bytes: [UInt8]) -> Bool { (try? read()) == bytes }

    /// Makes the file's keys unreadable, and removes it.
    ///
    /// - Throws: ``VaultError`` with code `storage`.
    func destroy() throws { try KeyringFile.destroy(path, fileSystem: fileSystem) }

    /// Destroys the copies of a vault's keyring that were kept when a backup took the file's place: they hold generations
    /// that are gone here. What is of another vault stays.
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

extension VaultStore {
    /// Changes the keyring, and notes in the index how new it is.
    ///
    /// - Parameters:
    ///   - isRemembered: whether the index demands a keyring as new as this from now on.
    ///   - lead: what is to be durable before the keyring is.
    /// - Throws: as ``Keyring/change(reading:writing:_:)``; what `lead` throws; ``VaultError`` where the index cannot be
    ///   written: then the file is the new one. Where it was a generation's row, this process goes on with the keys that it
    ///   had.
    package func changeKeyring<Result>(
        at place: KeyringPlace, isRemembered: Bool = true, leading lead: () throws -> Void = {},
        _ edit: (inout KeyringEdit) throws -> Result
    ) throws -> Result {
        var current = 0
        let result = try keyring.change(
            reading: place.read,
            writing: { bytes in
                try lead()
                try place.write(bytes)
                // Before its keys are used here: what they wrap names the generation's row.
                try withDiskRoom { try index.addGeneration(current) }
            },
            { editing in
                let result = try edit(&editing)
                current = Int(editing.document.current)
                return result
            })
        if isRemembered { try withDiskRoom { try index.rememberKeyring() } }
        return result
    }
}
