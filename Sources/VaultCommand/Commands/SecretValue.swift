import Foundation

/// Reads a setting's value that is not typed literally, but is a secret from standard input or the content of a file.
enum SecretValue {
    /// The text that stands for a value from standard input.
    static let form = "-"

    /// Returns a value, or the first line of standard input if the value is `-`.
    static func read(_ value: String) throws -> String {
        guard value == form else { return value }
        guard let line = readLine(), !line.isEmpty else {
            throw UsageError("standard input has no value; write it there as one line")
        }
        return line
    }

    /// Returns the text of a file, which is to be copied into a setting.
    ///
    /// - Parameter most: the maximum number of bytes that the setting accepts.
    static func file(_ path: String, atMost most: Int) throws -> String {
        let bytes: Data
        do {
            let file = try FileHandle(forReadingFrom: URL(filePath: path))
            defer { try? file.close() }
            // One byte more is read, so that the setting can refuse a file that is too large.
            bytes = try file.read(upToCount: most + 1) ?? Data()
        } catch {
            throw UsageError("the file \(path) cannot be read; name a readable file")
        }
        // An empty file is refused, because an empty text would remove the setting.
        guard !bytes.isEmpty else { throw UsageError("the file \(path) is empty; config unset removes the setting") }
        // A long DER sequence begins with these bytes, and text does not.
        guard !bytes.starts(with: [0x30, 0x82]) else {
            throw UsageError(
                "the file \(path) is in DER form; convert it to PEM first: openssl x509 -inform der -in FILE -out PEM")
        }
        // The parts that matter are ASCII, and comments may be in any encoding.
        return String(decoding: bytes, as: UTF8.self)
    }
}
