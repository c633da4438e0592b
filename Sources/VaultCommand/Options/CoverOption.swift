import ArgumentParser
import MediaVault

/// The picture to set as a title's cover when the title is stored.
struct CoverOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "JPEG, PNG or WebP picture for the title (default: the one in its media).", valueName: "file"),
        completion: .file(extensions: ["jpg", "jpeg", "png", "webp"]))
    var cover: String?

    /// Returns the picture's bytes; nil if no picture was given.
    func bytes() async throws -> [UInt8]? {
        guard let cover else { return nil }
        return try await CoverFile.bytes(of: cover)
    }
}

/// Reads the picture file for a title's cover.
enum CoverFile {
    /// Returns the bytes of a file that can be a cover.
    ///
    /// - Throws: ``VaultError`` with code `storage` if the file cannot be read, or `invalidArgument` if it is not a
    ///   regular file, is too large, or is not a picture of a supported kind.
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
