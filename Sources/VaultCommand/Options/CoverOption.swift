import ArgumentParser
import MediaVault

/// The picture that a title gets when it is stored.
struct CoverOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "JPEG, PNG or WebP picture for the title (default: the one in its media).", valueName: "file"),
        completion: .file(extensions: ["jpg", "jpeg", "png", "webp"]))
    var cover: String?

    /// Returns the bytes of the picture; nil if none was given.
    func bytes() async throws -> [UInt8]? {
        guard let cover else { return nil }
        return try await CoverFile.bytes(of: cover)
    }
}

/// The file of a picture for a title.
enum CoverFile {
    /// Returns the bytes of a file if they can be a cover.
    ///
    /// - Throws: ``VaultError`` with code `storage` if the file cannot be read, `invalidArgument` if it is no regular
    ///   file, too large, or no picture of a kind that is kept.
    static func bytes(of file: String) async throws -> [UInt8] {
        let source = try await ImportedFile.open(
            at: try ProcessEnvironment.current.absolute(file), as: "picture")
        do {
            try Cover.check(byteCount: source.length)
            var bytes: [UInt8] = []
            while let more = try await source.next() { bytes += more }
            try Cover.check(bytes)
            return bytes
        } catch let error as VaultError where error.code == .invalidArgument {
            throw VaultError(error.code, "\(file) cannot be a cover: \(error.message)")
        }
    }
}
