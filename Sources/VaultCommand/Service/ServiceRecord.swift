import Foundation
import MediaVault
import VaultService

/// Finds the service that is running for a vault.
enum ServiceProbe {
    private static let queue = BlockingQueue("mediavault.probe")

    /// Returns the service that `service.json` records, if its process is alive and accepts connections.
    static func running(in folder: String) async throws -> ServiceRecord? {
        try await queue.run {
            guard let record = ServiceRecord.read(in: folder), let address = record.listening,
                isAlive(record.pid), isListening(address)
            else { return nil }
            return record
        }
    }

    /// Returns whether a program on this machine accepts connections at an address.
    static func isAnswered(at address: ListenAddress) async -> Bool {
        (try? await queue.run { isListening(address) }) ?? false
    }

    private static func isAlive(_ pid: Int32) -> Bool {
        // `EPERM` means that the process is alive, but belongs to another user.
        pid > 0 && (kill(pid, 0) == 0 || errno == EPERM)
    }

    private static func isListening(_ address: ListenAddress) -> Bool {
        var hints = unsafe addrinfo()
        #if canImport(Glibc)
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        unsafe hints.ai_socktype = SOCK_STREAM
        #endif
        var found: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(address.host, String(address.port), &hints, &found) == 0 else { return false }
        defer { unsafe freeaddrinfo(found) }
        var candidate = unsafe found
        while let entry = unsafe candidate?.pointee {
            if unsafe accepts(entry) { return true }
            unsafe candidate = entry.ai_next
        }
        return false
    }

    private static func accepts(_ entry: addrinfo) -> Bool {
        let descriptor = unsafe socket(entry.ai_family, entry.ai_socktype, entry.ai_protocol)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // A listener on this machine accepts at once unless its queue is full, in which case this does not wait long.
        var limit = timeval(tv_sec: 1, tv_usec: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        return unsafe connect(descriptor, entry.ai_addr, entry.ai_addrlen) == 0
    }
}

/// The running service, as recorded in `service.json` in the vault's folder.
struct ServiceRecord: Codable, Hashable, Sendable {
    /// The service's address, which consists of `http://` or `https://` and the authority.
    let address: String
    let pid: Int32
    /// Whether the service serves its pages to browsers; nil if an older version wrote the record.
    var servesPages: Bool?

    init(_ address: ListenAddress, pid: Int32, isSecure: Bool = false, servesPages: Bool? = nil) {
        self.address = "\(isSecure ? "https" : "http")://\(address)"
        self.pid = pid
        self.servesPages = servesPages
    }

    /// The address on which the service listens; nil if ``address`` is malformed.
    var listening: ListenAddress? {
        let scheme = address.prefix { $0 != ":" }
        guard ["http", "https"].contains(scheme), address.dropFirst(scheme.count).hasPrefix("://") else { return nil }
        return try? ListenAddress(String(address.dropFirst(scheme.count + 3)))
    }

    private static func file(in folder: String) -> String { folder + "/service.json" }

    /// The maximum number of bytes in a record, which has only an address and two short members.
    private static let maxBytes = 64 << 10

    /// Returns the record in the file; nil if the file is missing or invalid.
    ///
    /// A link or a pipe does not count as a record, because any user who can write to the folder may have created one
    /// there.
    static func read(in folder: String) -> ServiceRecord? {
        guard let bytes = WholeFile.bytes(of: file(in: folder), atMost: maxBytes) else { return nil }
        return try? JSONDecoder().decode(ServiceRecord.self, from: Data(bytes))
    }

    /// Writes the file atomically, accessible only to its owner.
    func write(in folder: String) throws {
        let file = Self.file(in: folder)
        let text = try JSONText.of(self) + "\n"
        // Any existing file is removed first, so as not to write through a link or a pipe in its place.
        _ = unsafe unlink(file + ".new")
        let isWritten = FileManager.default.createFile(
            atPath: file + ".new", contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        guard isWritten, unsafe rename(file + ".new", file) == 0 else {
            throw VaultError(
                .storage, "cannot write service.json to \(folder); free some disk space, or fix its permissions")
        }
    }

    /// Removes the file if it names this process.
    ///
    /// A read-only service may end after another service that owns the vault has replaced the file. A failure is
    /// ignored, because readers check that the process is alive.
    static func remove(in folder: String) {
        guard read(in: folder)?.pid == getpid() else { return }
        try? FileManager.default.removeItem(atPath: file(in: folder))
    }
}
