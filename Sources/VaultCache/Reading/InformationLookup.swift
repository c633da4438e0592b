import VaultFetch
package import VaultModel
import VaultStorage

/// Finds out what a resource is, without reading it.
package struct InformationLookup {
    private let loader: ResourceLoader

    package init(of loader: ResourceLoader) { self.loader = loader }

    /// Returns what is known of the resource. If nothing is known, asks the origin first.
    package func head() async throws -> MediaHead {
        try await loader.ready()
        let revalidation = try await loader.check.revalidateIfStale(at: nil)
        let isKnown = loader.information != nil
        let information = try await learn()
        guard let entityTag = loader.record.entityTag else { throw MediaReader.changed(loader.url, 0) }
        return MediaHead(
            information: information, entityTag: loader.name(entityTag, of: information),
            source: .of(information.length.map { 0..<$0 }, loader.look { $0.present }),
            isKnown: isKnown, isWholeAnswer: LoaderOpening(of: loader, .from(0)).answersWhole(information),
            bypass: bypass(for: information.length),
            staleness: revalidation.staleness, originStatus: revalidation.originStatus)
    }

    /// Returns why bytes fetched now would not be stored; nil if they would be.
    private func bypass(for length: Int64?) -> BypassReason? {
        loader.look { state in
            let isHeld = length.map { state.present.gaps(in: 0..<$0).isEmpty } ?? false
            return isHeld || !state.permissions.refusesAll ? nil : state.permissions.bypass
        }
    }

    /// Returns what the resource is. If nothing is known of it, asks the origin first.
    ///
    /// Some origins answer HEAD carelessly or not at all. If the answer to HEAD is unusable, the first byte is
    /// requested with GET, and kept.
    package func learn() async throws -> ContentInformation {
        try await loader.ready()
        if let known = loader.information { return known }
        guard !loader.isOffline else { throw MediaReader.hole(at: 0, isDamage: false) }
        do {
            if let told = try await askHead() { return told }
        } catch let failure as OriginFailure {
            loader.origin.errors.count(failure)
            throw FetchFailure.origin(failure).vaultError(for: loader.url, at: 0)
        }
        do {
            let opening = try await LoaderOpening(of: loader, .closed(first: 0, last: 0)).run()
            loader.change { $0.removeReader(opening.reader) }
            return opening.information
        } catch let error as VaultError where error.code == .unsatisfiableRange {
            // The resource is empty, and the loader now knows that.
            guard let known = loader.information else { throw error }
            return known
        }
    }

    /// Sends a HEAD request for an unknown resource, and records what the answer states.
    ///
    /// - Returns: the information; nil if the answer is unusable, in which case nothing is recorded.
    /// - Throws: ``OriginFailure``; `CancellationError`.
    private func askHead() async throws -> ContentInformation? {
        let contact = loader.origin.contact
        guard contact.answersHead else { return nil }
        let time = loader.store.index.now()
        do {
            let (request, head) = try await contact.within(loader.retryPolicy.headTimeLimit) {
                [origin = loader.origin] in
                try await origin.askOnce { OriginRequest(url: $0, method: .head) }
            }
            return try await loader.answers.exclusively {
                try await takeIn(loader.heard(head), asked: request, at: time)
            }
        } catch is OriginReachability.TooSlow {
            contact.noteSilenceToHead()
            return nil
        } catch let failure as OriginFailure where Self.mayGetSucceed(failure) {
            return nil
        }
    }

    private func takeIn(
        _ head: OriginHead, asked request: OriginRequest, at time: Int64
    ) async throws -> ContentInformation? {
        // Another answer may have changed the loader's state in the meantime.
        if let known = loader.information { return known }
        let content = try ResponseCheck.content(of: head, asked: request)
        // Frameworks that do not support HEAD report a length of 0, or no length.
        guard let length = content.length, length > 0 else { return nil }
        let information = ResponseCheck.information(of: head, asked: request, content: content)
        try await loader.begin(information, Freshness(head.fields, asked: time), from: request.url, keeping: nil)
        return information
    }

    /// Returns whether GET may succeed although HEAD failed in this way.
    private static func mayGetSucceed(_ failure: OriginFailure) -> Bool {
        switch failure.kind {
        // After too many requests, another request would not help.
        case .refused(let status, let retryAfter): status != 429 && retryAfter == nil
        case .interrupted, .invalidResponse: true
        case .unreachable: false
        }
    }
}
