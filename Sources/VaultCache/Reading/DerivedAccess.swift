import VaultFetch
package import VaultModel

/// Limits what the vault serves for a reference that comes from a manifest or a redirect.
///
/// The operator may read everything that was fetched, wherever it came from. A manifest gets no more than its own
/// request would get, which is bytes from public addresses and from hosts that the operator allows by name. Whether and
/// how the vault refuses such a reference does not depend on what it holds.
package struct DerivedAccess: Sendable {
    private let loader: ResourceLoader
    private let reference: MediaReference

    /// Creates the limits for one reference to the resource of a loader.
    package init(to loader: ResourceLoader, for reference: MediaReference) {
        (self.loader, self.reference) = (loader, reference)
    }

    /// Returns whether bytes from the hosts in this information may be served for the reference.
    ///
    /// Older versions of the vault did not record where bytes that they stored for the operator came from, so these are
    /// not served.
    package func mayGive(_ information: ContentInformation?) -> Bool {
        guard reference.isDerived else { return true }
        return information?.privateHosts?.allSatisfy(loader.names.allows) ?? false
    }

    /// Requires that bytes from the hosts in this information may be served for the reference.
    ///
    /// - Throws: ``VaultError`` that names the first byte wanted.
    package func require(_ information: ContentInformation?, at position: Int64 = 0) throws {
        guard mayGive(information) else { throw refusal(at: position) }
    }

    /// Opens the resource for the reference.
    ///
    /// - Throws: the errors of ``LoaderOpening/run()``.
    package func open(_ requested: RequestedRange) async throws -> Opening {
        let position = requested.firstByte ?? 0
        try await admit(at: position)
        let opening = try await LoaderOpening(of: loader, requested).run()
        guard mayGive(opening.information) else {
            loader.change { $0.removeReader(opening.reader) }
            throw refusal(at: position)
        }
        return opening
    }

    /// Requires that the resource may be served for the reference.
    ///
    /// If it may not, sends the request that the reference would cause by itself. If that fails, throws its error. If
    /// it succeeds, refuses the reference, unless nothing is known of the resource yet or the answer is of the same
    /// representation.
    ///
    /// - Parameters:
    ///   - position: the first byte wanted.
    ///   - copy: what is known of the copy in memory that would be served; nil if there is none.
    /// - Throws: ``VaultError``; `CancellationError`.
    package func admit(at position: Int64 = 0, copy: ContentInformation? = nil) async throws {
        guard reference.isDerived else { return }
        try await loader.ready()
        let known = copy ?? loader.information
        if mayGive(known) { return }
        // Nothing is held, and the request that will follow cannot reach private addresses either.
        if known == nil, loader.origin.urls.current.reach == .publicOnly { return }
        guard !loader.isOffline else { throw MediaReader.hole(at: position, isDamage: false) }
        do {
            let (request, head) = try await loader.origin.askOnce(reach: .publicOnly) {
                OriginRequest(url: $0, first: 0, end: 1)
            }
            guard let known else { return }
            if copy == nil, try await learnOrigin(of: known, from: head, asked: request) { return }
        } catch let failure as OriginFailure {
            loader.origin.errors.count(failure)
            throw FetchFailure.origin(failure).vaultError(for: loader.url, at: position)
        }
        throw refusal(at: position)
    }

    /// Records where a representation came from, if that is unknown and an answer from public addresses is of the same
    /// representation.
    ///
    /// - Returns: whether this was recorded.
    private func learnOrigin(
        of known: ContentInformation, from head: OriginHead, asked: OriginRequest
    ) async throws -> Bool {
        guard known.privateHosts == nil, known.validators != Validators() else { return false }
        let verdict = AnswerJudge(known: AnswerJudge.Known(information: known), asked: asked).judge(head)
        if case .decided(.refuse(let failure)) = verdict { throw failure }
        guard case .decided(.same(let content)) = verdict else { return false }
        var information = known
        information.privateHosts = ResponseCheck.information(of: head, asked: asked, content: content).privateHosts
        try await loader.learn(information)
        return true
    }

    /// Returns the error for a request that may not be sent because of its host's address.
    private func refusal(at position: Int64) -> VaultError {
        FetchFailure.origin(.privateAddress).vaultError(for: loader.url, at: position)
    }
}

extension ContentInformation {
    /// Returns the hosts at private addresses from which the bytes of this information or of newer information came;
    /// nil if they are unknown for either. If they are unknown only for this information, but its bytes are confirmed,
    /// the newer hosts count for both.
    ///
    /// - Parameters:
    ///   - news: the information from a newer answer.
    ///   - isConfirmed: whether the newer answer shows that the earlier bytes are unchanged.
    func privateHosts(with news: ContentInformation, isConfirmed: Bool) -> Set<String>? {
        guard let hosts = privateHosts else { return isConfirmed ? news.privateHosts : nil }
        return news.privateHosts.map(hosts.union)
    }
}
