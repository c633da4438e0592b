import Foundation
import OriginTestSupport
import Testing
import VaultService
import VaultTestSupport

@testable import VaultCommand

@Suite struct ServiceRecordTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("The record is JSON that only its owner can read, and it can be removed") func file() throws {
        let record = ServiceRecord(ListenAddress(host: "::1", port: 8300), pid: getpid())
        try record.write(in: folder.path)
        let file = folder.path + "/service.json"
        #expect(
            try String(contentsOfFile: file, encoding: .utf8)
                == #"{"address":"http://[::1]:8300","pid":\#(getpid())}"# + "\n")
        #expect(try folder.mode(of: "service.json") & 0o077 == 0)
        #expect(ServiceRecord.read(in: folder.path) == record)
        #expect(record.listening == ListenAddress(host: "::1", port: 8300))
        ServiceRecord.remove(in: folder.path)
        #expect(ServiceRecord.read(in: folder.path) == nil)
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    @Test("The record of another service stays if this one ends") func another() throws {
        let record = ServiceRecord(ListenAddress(host: "::1", port: 8300), pid: 1)
        try record.write(in: folder.path)
        ServiceRecord.remove(in: folder.path)
        #expect(ServiceRecord.read(in: folder.path) == record)
    }

    @Test("The record of a TLS service has an https address, and keeps it when read back") func secure() throws {
        let address = ListenAddress(host: "127.0.0.1", port: 8443)
        let record = ServiceRecord(address, pid: 17, isSecure: true)
        #expect(record.address == "https://127.0.0.1:8443" && record.listening == address)
    }

    @Test(
        "An invalid record names no service",
        arguments: ["", "null", "[]", #"{"address":5,"pid":1}"#, #"{"address":"http://127.0.0.1:1"}"#])
    func malformed(_ text: String) async throws {
        try folder.write(text, to: "service.json")
        #expect(ServiceRecord.read(in: folder.path) == nil)
        #expect(try await ServiceProbe.running(in: folder.path) == nil)
    }

    @Test("A record that is very large, a link or a pipe names no service, and nothing hangs; the next one replaces it")
    func odd() throws {
        let record = ServiceRecord(ListenAddress(host: "::1", port: 8300), pid: getpid())
        let file = folder.path + "/service.json"
        try record.write(in: folder.path)
        // Only spaces follow, so that it would be valid if it were read.
        try (String(contentsOfFile: file, encoding: .utf8) + String(repeating: " ", count: 1 << 20))
            .write(toFile: file, atomically: false, encoding: .utf8)
        #expect(ServiceRecord.read(in: folder.path) == nil)
        try record.write(in: folder.path)
        try FileManager.default.moveItem(atPath: file, toPath: folder.path + "/away")
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: folder.path + "/away")
        #expect(ServiceRecord.read(in: folder.path) == nil)
        try TemporaryFolder.remove(file)
        // The bytes of the paths are only used during the calls.
        for name in [file, file + ".new"] { #expect(unsafe mkfifo(name, 0o600) == 0) }
        #expect(ServiceRecord.read(in: folder.path) == nil)
        try record.write(in: folder.path)
        #expect(ServiceRecord.read(in: folder.path) == record)
    }

    @Test("A service runs if its process is alive and its address accepts connections") func probe() async throws {
        let listener = try ScriptedOrigin { _ in ScriptedAnswer(404) }
        let address = ListenAddress(host: "127.0.0.1", port: listener.port)
        let record = ServiceRecord(address, pid: getpid())
        try record.write(in: folder.path)
        #expect(try await ServiceProbe.running(in: folder.path) == record)
        // No process has number 0 or the largest possible process number.
        for pid in [Int32.max, 0, -1] {
            try ServiceRecord(address, pid: pid).write(in: folder.path)
            #expect(try await ServiceProbe.running(in: folder.path) == nil)
        }
        try record.write(in: folder.path)
        listener.stop()
        #expect(try await ServiceProbe.running(in: folder.path) == nil)
    }
}
