import Foundation
import MediaVault

/// Reads titles from arguments and list files.
enum ListReader {
    /// The argument or file name that stands for standard input.
    static let standardInput = "-"

    /// Returns the titles that the arguments name, followed by those in the files. An argument `-` is replaced by the
    /// titles from standard input.
    ///
    /// - Throws: ``UsageError`` if a list cannot be read, is too long, or contains no titles.
    static func read(_ arguments: [String], files: [String]) async throws -> [FetchOrder] {
        guard (arguments + files).count(where: { $0 == standardInput }) <= 1 else {
            throw UsageError("- may be given only once, because standard input can be read only once")
        }
        var orders: [FetchOrder] = []
        for argument in arguments {
            if argument == standardInput {
                orders += try await read(FileHandle.standardInput, "standard input")
            } else {
                orders.append(FetchOrder(argument: argument))
            }
        }
        for file in files {
            guard file != standardInput else {
                orders += try await read(FileHandle.standardInput, "standard input")
                continue
            }
            let path = try ProcessEnvironment.current.absolute(file)
            if (try? URL(filePath: path).resourceValues(forKeys: [.isDirectoryKey]))?.isDirectory == true {
                throw UsageError("the list \(file) is a folder; give a file with a title on each line")
            }
            guard !file.isEmpty, let handle = FileHandle(forReadingAtPath: path) else {
                throw UsageError("the list \(file) cannot be read; give a file that exists and that you may read")
            }
            orders += try await read(handle, (path as NSString).lastPathComponent)
        }
        guard !orders.isEmpty else { throw UsageError("the list names no title; give one on each line") }
        return orders
    }

    /// Returns the bytes of a file or of standard input. Slightly more than `limit` bytes are read, so that the caller
    /// can tell if there are too many.
    ///
    /// - Throws: ``UsageError`` if the file cannot be read.
    static func bytes(of file: String, atMost limit: Int) async throws -> [UInt8] {
        if file == standardInput { return try await StandardInput.read(atMost: limit) }
        let path = try ProcessEnvironment.current.absolute(file)
        guard !file.isEmpty, let handle = FileHandle(forReadingAtPath: path) else {
            throw UsageError("the list \(file) cannot be read; give a file that exists and that you may read")
        }
        return try await BlockingQueue("mediavault.input").run {
            var bytes: [UInt8] = []
            do {
                while bytes.count <= limit, let more = try handle.read(upToCount: pieceBytes), !more.isEmpty {
                    bytes += more
                }
            } catch let error as CocoaError {
                throw UsageError("the list \(file) cannot be read: \(error.localizedDescription)")
            }
            return bytes
        }
    }

    private static let pieceBytes = 64 << 10

    private static func read(_ file: FileHandle, _ name: String) async throws -> [FetchOrder] {
        try await BlockingQueue("mediavault.input").run {
            var list = TitleList(name)
            do {
                while let bytes = try file.read(upToCount: pieceBytes), !bytes.isEmpty {
                    try list.take([UInt8](bytes))
                }
            } catch let error as CocoaError {
                throw UsageError("the list \(name) cannot be read: \(error.localizedDescription)")
            }
            return try list.finish()
        }
    }
}
