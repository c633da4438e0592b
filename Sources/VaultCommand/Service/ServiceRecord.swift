import Foundation
import MediaVault
import VaultService

/// Finds the service that runs for a vault.
enum ServiceProbe {
    private static let queue = BlockingQueue("mediavault.probe")

    /// The service that `service.json` names, where its process lives and listens.
    static func running(in folder: String) async throws -> ServiceRecord? {
        try await queue.run {
            guard let record = ServiceRecord.read(in: folder), let address = record.listening,
                isAlive(record.pid), isListening(address)
            else { return nil }
            return record
        }
    }

    private static func isAlive(_ pid: Int32) -> Bool {
        // A process of another user is alive, too.
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
        // A listener on this machine answers at once, or its queue is full: do not wait for that.
        var limit = timeval(tv_sec: 1, tv_usec: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        return unsafe connect(descriptor, entry.ai_addr, entry.ai_addrlen) == 0
    }
}

/// The running service, as `service.json` in the vault's folder names it.
struct ServiceRecord: Codable, Hashable, Sendable {
    /// `http://` or `https://`, and an authority.
    let address: String
    let pid: Int32

    init(_ address: ListenAddress, pid: Int32, isSecure: Bool = false) {
        self.address = "\(isSecure ? "https" : "http")://\(address)"
        self.pid = pid
    }

    /// Where it listens; nil where the address is none.
    var listening: ListenAddress? {
        let scheme = address.prefix { $0 != ":" }
        guard ["http", "https"].contains(scheme), address.dropFirst(scheme.count).hasPrefix("://") else { return nil }
        return try? ListenAddress(String(address.dropFirst(scheme.count + 3)))
    }

    private static func file(in folder: String) -> String { folder + "/service.json" }

    /// What the file says; nil where there is none, or it says nothing.
    static func read(in folder: String) -> ServiceRecord? {
        guard let data = FileManager.default.contents(atPath: file(in: folder)) else { return nil }
        return try? JSONDecoder().decode(ServiceRecord.self, from: data)
    }

    /// Writes the file for its owner alone, never half: a new one takes the place of the old.
    func write(in folder: String) throws {
        let file = Self.file(in: folder)
        let text = try JSONText.of(self) + "\n"
        let isWritten = FileManager.default.createFile(
            atPath: file + ".new", contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        guard isWritten, unsafe rename(file + ".new", file) == 0 else {
            throw VaultError(.storage, "service.json cannot be written into \(folder); make room, or mend its mode")
        }
    }

    /// Removes the file, where it names this process: a service that only read may end after another began that owns
    /// the vault. That it could not hurts little: readers try whether the process is there.
    static func remove(in folder: String) {
        guard read(in: folder)?.pid == getpid() else { return }
        try? FileManager.default.removeItem(atPath: file(in: folder))
    }
}
