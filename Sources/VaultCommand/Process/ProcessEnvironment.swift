import CProcess

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The environment variables, and the folder in which the process was started.
struct ProcessEnvironment: Sendable {
    private let variables: [String: String]
    /// The folder against which relative paths are resolved; nil if it was removed, or its path is not UTF-8.
    private let workingDirectory: String?

    init(variables: [String: String], workingDirectory: String?) {
        self.variables = variables
        self.workingDirectory = workingDirectory
    }

    /// The environment of this process, without variables that are not UTF-8. Among those, ``ProcessInput/check()`` has
    /// refused any that matter.
    static let current = ProcessEnvironment(
        variables: ProcessInput.variables.reduce(into: [:]) { known, bytes in
            guard let text = String(validating: bytes, as: UTF8.self), let end = text.firstIndex(of: "=")
            else { return }
            known[String(text[..<end])] = String(text[text.index(after: end)...])
        }, workingDirectory: ProcessInput.workingDirectory)

    /// The value of a variable; nil if the variable is unset or empty.
    subscript(name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the absolute form of a path. A relative path is resolved against the working directory.
    func absolute(_ path: String) throws -> String {
        if path.hasPrefix("/") { return AbsolutePath.of(path, from: "/") }
        guard let workingDirectory else {
            throw UsageError(
                "\(path) is relative to a folder that was removed, or whose path is not UTF-8; give an absolute path")
        }
        return AbsolutePath.of(path, from: workingDirectory)
    }
}

/// Makes the absolute paths that the library requires.
enum AbsolutePath {
    /// Returns the absolute form of `path`. A relative path is resolved against `folder`.
    ///
    /// Empty and `.` components are removed. A `..` component is kept, because only the file system can resolve it
    /// across symbolic links.
    static func of(_ path: String, from folder: String) -> String {
        let whole = path.hasPrefix("/") ? path : folder + "/" + path
        return "/" + whole.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }
}

/// The input that the system passes to this process. The input is bytes, because a path may contain any bytes, and is
/// text only if it is UTF-8.
///
/// Input that is not UTF-8 is refused, because a path in which a character was replaced would name another file or
/// folder.
enum ProcessInput {
    /// The arguments, without the program's name.
    ///
    /// - Throws: ``UsageError`` if an argument is not UTF-8.
    static func arguments() throws -> [String] {
        try texts(of: unsafe strings(cprocess_arguments()).dropFirst())
    }

    /// Returns arguments as text.
    ///
    /// - Throws: ``UsageError`` if an argument is not UTF-8.
    static func texts(of arguments: some Sequence<[UInt8]>) throws -> [String] {
        try arguments.enumerated().map { index, bytes in
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw UsageError(
                    "argument \(index + 1) is not UTF-8; rename the file or folder that it names, or link to it")
            }
            return text
        }
    }

    /// The environment variables, each in the form `NAME=value`.
    static var variables: [[UInt8]] { unsafe strings(cprocess_variables()) }

    /// Checks that the variables that name files and folders are UTF-8.
    ///
    /// - Throws: ``UsageError`` if one of them is not.
    static func check(_ variables: [[UInt8]] = variables) throws {
        for bytes in variables where String(validating: bytes, as: UTF8.self) == nil {
            let name = String(decoding: bytes.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
            guard ["HOME", "CREDENTIALS_DIR", "MEDIAVAULT_", "XDG_"].contains(where: name.hasPrefix) else { continue }
            throw UsageError("\(name) is not UTF-8; rename the file or folder that it names, or link to it")
        }
    }

    /// The folder in which the process was started; nil if it was removed, or its path is not UTF-8.
    fileprivate static var workingDirectory: String? {
        // The system allocates the memory for the path, and this function frees it.
        guard let path = unsafe getcwd(nil, 0) else { return nil }
        defer { unsafe free(path) }
        return unsafe String(validatingCString: path).flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    private static func strings(_ list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> [[UInt8]] {
        // The list and its strings exist for as long as the process. The list ends with a null pointer, and each string
        // with a zero byte.
        var (strings, next) = unsafe ([[UInt8]](), list)
        while let text = unsafe next.pointee {
            strings.append(unsafe Array(UnsafeRawBufferPointer(start: text, count: strlen(text))))
            unsafe next += 1
        }
        return strings
    }
}
