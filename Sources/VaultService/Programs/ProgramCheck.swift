import Foundation
import MediaVault
import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The attributes that the file system reports for a program, or for a folder above it.
struct ProgramFile: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case file, folder, other
    }

    let kind: Kind
    /// The id of the owning user.
    let owner: UInt32
    /// The permission bits, including the sticky bit.
    let mode: UInt32
    /// Whether this process may execute the file.
    let isExecutable: Bool

    /// Returns the reason why a program must not be run; nil if it may be run.
    ///
    /// A user who can replace the file or a folder above it could run any program as the vault's user.
    ///
    /// - Parameters:
    ///   - program: the program; nil if there is no such file.
    ///   - folders: the folders above the program.
    ///   - user: the id of the user that this process runs as.
    static func fault(of program: ProgramFile?, in folders: [ProgramFile], user: UInt32) -> String? {
        guard let program else { return "there is no such file" }
        guard program.kind == .file else { return "it is not a regular file" }
        guard program.isTrusted(by: user) else {
            return "it belongs to another user, or its group or others may write to it"
        }
        guard program.isExecutable else { return "it is not executable" }
        let isSafe = folders.allSatisfy { $0.kind == .folder && ($0.isTrusted(by: user) || $0.isSticky) }
        return isSafe ? nil : "a folder above it belongs to another user, or its group or others may write to it"
    }

    private func isTrusted(by user: UInt32) -> Bool { (owner == 0 || owner == user) && mode & 0o022 == 0 }

    /// Whether this is a folder such as `/tmp`, in which a file can be replaced only by its owner.
    private var isSticky: Bool { owner == 0 && mode & 0o1000 != 0 }
}

extension ProgramFile {
    /// Returns the path, without symbolic links, of a program that may be run. The caller must run this path, because a
    /// link could be replaced after the check. This method blocks.
    ///
    /// - Parameter examine: returns the attributes of the file or folder at a path; nil if the file system reports
    ///   none.
    /// - Throws: ``ProgramFailure`` if the program must not be run.
    static func trusted(
        at path: String, examining examine: (String) -> ProgramFile? = { ProgramFile(at: $0) }
    ) throws -> String {
        let real = URL(filePath: path).resolvingSymlinksInPath().path
        // A missing file is reported first, because the folders above it are then irrelevant.
        let program = examine(real)
        guard program != nil else { throw ProgramFailure(reason: "there is no such file") }
        var folders: [ProgramFile] = []
        var folder = real
        while folder != "/", !folder.isEmpty {
            folder = URL(filePath: folder).deletingLastPathComponent().path
            guard let examined = examine(folder) else {
                throw ProgramFailure(reason: "a folder above it cannot be examined")
            }
            folders.append(examined)
        }
        if let fault = fault(of: program, in: folders, user: geteuid()) {
            throw ProgramFailure(reason: fault)
        }
        return real
    }

    private init?(at path: String) {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            let owner = attributes[.ownerAccountID] as? UInt32, let mode = attributes[.posixPermissions] as? UInt32
        else { return nil }
        kind =
            switch attributes[.type] as? FileAttributeType {
            case .typeRegular: .file
            case .typeDirectory: .folder
            default: .other
            }
        self.owner = owner
        self.mode = mode
        isExecutable = FileManager.default.isExecutableFile(atPath: path)
    }
}

extension SettingsChange {
    /// Checks the programs that the change names, so that an untrusted program is found before it is needed.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if a program must not be run.
    func requireTrustedPrograms() async throws {
        for words in [notifyCommand, refreshCommand].compactMap(\.self) where !words.isEmpty {
            let path = try ProgramInvocation(words).path
            do {
                _ = try await BlockingPool.shared.run { try ProgramFile.trusted(at: path) }
            } catch let failure as ProgramFailure {
                throw VaultError(
                    .invalidArgument,
                    "the program \(path) cannot be run: \(failure.reason); correct that, or name another program")
            }
        }
    }
}
