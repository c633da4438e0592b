import VaultModel

// What answers tell, in the index and in the state: in this order, so that nothing is read that a restart would not know.
extension ResourceLoader {
    /// A new representation begins, in the index and here.
    func begin(
        _ information: ContentInformation, _ freshness: Freshness, keeping fetch: FetchState.ID?
    ) async throws {
        let (record, names, source) = (record, names, addresses.current)
        guard look({ $0.mode.stores }) else {
            try record.passThrough()
            return change { $0.begin(information, freshness, keeping: fetch) }
        }
        do {
            try await pool.run {
                if let principal = record.key.principal { try names.note(principal) }
                try record.begin(information, freshness, of: source)
            }
            change { $0.begin(information, freshness, keeping: fetch) }
        } catch let error as VaultError {
            // Caching is never the reason that playback fails: what the store refuses passes through.
            try record.passThrough()
            change { $0.begin(information, freshness, keeping: fetch, refused: error) }
        }
    }

    /// More has become known, in the index and here.
    func learn(_ information: ContentInformation) async throws {
        let record = record
        // That it could not be written down will be found out again.
        if look({ $0.mode.stores }) { try? await pool.run { try record.learn(information) } }
        change { $0.learn(information) }
    }
}
