public import VaultModel
import VaultStorage

/// Reads request header fields from a text file that has one `Name: value` per line.
public enum HeaderFile {
    /// The maximum size of the text in bytes.
    public static let maxBytes = 64 << 10

    /// Reads a file. Only its owner may have access to the file, unless `allowLoose` is set.
    ///
    /// - Throws: ``VaultError`` with code `looseKeyFile` if the file's size, mode, owner or kind is wrong;
    ///   `invalidArgument` if there is no such file, or its text is invalid.
    public static func read(_ path: String, allowLoose: Bool = false) async throws -> HeaderFields {
        try await BlockingPool.shared.run {
            try fields(
                in: PrivateFile.read(path, allowLoose: allowLoose, what: "header file", most: maxBytes))
        }
    }

    /// Parses the header fields in a text. Lines end with LF or CR LF; blank lines are ignored.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`. The message contains the line number and at most a field's
    ///   name, never its value.
    public static func fields(in text: [UInt8]) throws -> HeaderFields {
        guard text.count <= maxBytes else {
            throw VaultError(.invalidArgument, "the request fields are larger than 64 KiB; leave some out")
        }
        guard let string = String(validating: text, as: UTF8.self) else {
            throw VaultError(.invalidArgument, "the request fields are not UTF-8; write them in UTF-8")
        }
        var fields = HeaderFields()
        for (index, line) in string.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let line = Substring(line.last == 0x0D ? line.dropLast() : line)
            if line.trimmingBlanks().isEmpty { continue }
            guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), line.utf8.first != 0x20, line.utf8.first != 9
            else {
                throw VaultError(
                    .invalidArgument, "line \(index + 1) of the request fields is not a field; write it as Name: value")
            }
            fields.append(name: String(line[..<colon]), value: String(line[line.utf8.index(after: colon)...]))
        }
        try fields.requireSendable()
        return fields
    }

    /// Returns the header fields that another program would send, except for those that the vault sets itself, such as
    /// `Range`.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if a field cannot be sent. The message contains at most the
    ///   field's name.
    public static func fields(ofProgram named: [String: String]) throws -> HeaderFields {
        var fields = HeaderFields()
        for (name, value) in named.sorted(by: { $0.key < $1.key }) where !HeaderFields.isSetByVault(name) {
            fields.append(name: name, value: value)
        }
        guard fields.fields.reduce(0, { $0 + $1.name.utf8.count + $1.value.utf8.count }) <= maxBytes else {
            throw VaultError(.invalidArgument, "the request fields are larger than 64 KiB; leave some out")
        }
        try fields.requireSendable()
        return fields
    }
}
