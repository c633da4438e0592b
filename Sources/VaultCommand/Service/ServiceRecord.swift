import Foundation
import MediaVault
import VaultService

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
