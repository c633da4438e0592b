import Foundation
import OriginTestSupport
import Testing

@testable import VaultCommand

@Suite struct StandardOutputTests {
    @Test("A slow reader receives every byte of an output larger than the pipe's buffer")
    func slowReader() async throws {
        let pipe = Pipe()
        let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        async let read = Self.all(of: pipe.fileHandleForReading)
        let output = StandardOutput(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        for start in stride(from: 0, to: bytes.count, by: 65_536) {
            try await output.write(bytes[start..<min(start + 65_536, bytes.count)])
        }
        try pipe.fileHandleForWriting.close()
        #expect(await read == bytes)
    }

    @Test("A write waits for a pipe that another process made non-blocking") func nonBlocking() async throws {
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        #expect(fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0)
        let bytes = [UInt8](repeating: 7, count: 500_000)
        async let read = Self.all(of: pipe.fileHandleForReading)
        try await StandardOutput(descriptor: descriptor).write(bytes[...])
        try pipe.fileHandleForWriting.close()
        #expect(await read == bytes)
    }

    @Test("A reader that has gone is distinguished from a failed write") func closed() async throws {
        ProcessHardening.ignoreBrokenPipes()
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        let output = StandardOutput(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        await #expect(throws: OutputClosed.self) { try await output.write("text") }
    }

    private static func all(of handle: FileHandle) async -> [UInt8] {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: handle.allBytes()) }
        }
    }
}
