import VaultModel

extension ResourceLoader {
    /// Sends a request to the address that counts. Where the origin refuses one, as it does signed addresses that have
    /// run out, others that are known have their turn.
    ///
    /// - Returns: nil where nothing is to be asked any more.
    func ask(
        for makeRequest: (MediaURL) -> OriginRequest?
    ) async throws -> (request: OriginRequest, response: any OriginResponse)? {
        while true {
            let (url, fields, reach) = addresses.current
            guard var request = makeRequest(url) else { return nil }
            request.fields = fields?.sent(to: url) ?? HeaderFields()
            request.reach = reach
            let response = try await origin.send(request)
            guard [401, 403].contains(response.head.status) else {
                addresses.grant(url)
                return (request, response)
            }
            guard addresses.refuse(url) else { return (request, response) }
            response.cancel()
        }
    }

    /// The origin has answered to an address with bytes: the index remembers it for the next run.
    func noteAnswer(from url: MediaURL) async {
        guard look({ $0.mode.stores }), let source = addresses.takeNews(of: url) else { return }
        let record = record
        // What could not be written down will be given, or found out, again.
        try? await pool.run { try record.renew(source) }
    }
}

extension ResourceLoader {
    /// Waits for a player's bytes, before which downloads stand back.
    func waitAsPlayer(_ reader: ReaderState.ID) async throws {
        try await precedence.waiting(at: addresses.current.url.origin) { try await waitForWake(reader) }
    }

    /// Wakes a reader at a time, so that it looks again.
    func wake(_ reader: ReaderState.ID, at time: ContinuousClock.Instant) {
        Task { [weak self] in
            try? await Task.sleep(until: time)
            self?.change { $0.wake(reader) }
        }
    }
}
