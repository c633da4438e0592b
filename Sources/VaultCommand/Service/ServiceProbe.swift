import Foundation
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
