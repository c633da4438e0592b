import Foundation
import Testing
import VaultTestSupport

@testable import VaultStorage

@Suite("The catalog has two copies")
struct CatalogFilesTests {
    @Test("Two copies are the same only if they have the same bytes, and both can be read")
    func sameCopies() throws {
        let folder = try TemporaryFolder()
        let files = CatalogFiles(in: folder.path)
        var bytes = Data(repeating: 7, count: 2 << 20 + 5)
        func write(_ path: String) throws { try bytes.write(to: URL(filePath: path)) }
        try write(files.newest)
        #expect(!files.areSame(), "there is one")
        try write(files.former)
        #expect(files.areSame())
        bytes[2 << 20 + 4] ^= 1
        try write(files.former)
        #expect(!files.areSame(), "the last byte differs")
        bytes = bytes.dropLast()
        try write(files.former)
        #expect(!files.areSame(), "the last byte is missing")
        try FileManager.default.removeItem(atPath: files.former)
        try FileManager.default.createSymbolicLink(atPath: files.former, withDestinationPath: files.newest)
        #expect(!files.areSame(), "a link is no copy")
    }
}
