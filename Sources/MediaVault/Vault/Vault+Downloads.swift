import VaultModel
import VaultStorage

// The download queue.
extension Vault {
    /// Returns the settings of the download queue.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if the settings fail authentication.
    public func downloadSettings() async throws -> DownloadSettings {
        let store = store
        return try await pool.run { try store.index.settings().downloads }
    }

    /// Changes the settings of the download queue, which take effect at once.
    ///
    /// - Throws: ``VaultError`` if the settings cannot be written, with code `owned` if this process is not the owner.
    public func setDownloadSettings(_ downloads: DownloadSettings) async throws {
        try await changeSettings(downloads: { $0 = downloads })
    }

    /// Returns the id of a title, whether or not the title is held.
    package func titleID(of reference: MediaReference) async throws -> TitleID {
        if let id = reference.titleID { return id }
        let id = try await name(reference).id
        let store = store
        return try await pool.run { try store.index.resources.find(id)?.titleID } ?? TitleID(of: id)
    }
}
