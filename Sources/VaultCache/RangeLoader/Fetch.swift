import VaultFetch
import VaultModel
import VaultStorage

/// One transfer that fills one gap. If the origin sends the whole resource, it begins at byte 0.
///
/// It receives bytes from the origin for all readers of the gap, while ``FetchSealer`` seals them.
struct Fetch {
    let id: FetchState.ID
    let loader: ResourceLoader

    /// Runs until the gap is filled, no reader needs its bytes any more, or the origin fails.
    ///
    /// Returns once everything received is sealed and committed.
    func run() async {
        let sealer = FetchSealer(id: id, loader: loader)
        async let sealing: Void = sealer.run()
        var failure = await receive()
        let (hasWrongEnd, isUnproven) = loader.look { state in
            (state.fetches[id]?.hasWrongEnd ?? false, state.fetches[id]?.isUnproven ?? false)
        }
        if hasWrongEnd {
            loader.origin.errors.count(Self.wrongEnd)
            failure = .origin(Self.wrongEnd)
        }
        loader.change { [failure] in $0.receiverEnded(id, failure, now: .now, chance: .random(in: 0...1)) }
        await sealing
        if hasWrongEnd || isUnproven { await discardBytes() }
        loader.change { $0.remove(id) }
    }

    private static let wrongEnd = OriginFailure(.invalidResponse, "it sent more bytes than it stated")

    /// Discards the answer's bytes, so that none of them are held.
    private func discardBytes() async {
        let segments = loader.change { $0.forgetBytes(of: id) }
        // The store remembers the segments that it cannot discard now.
        try? await loader.pool.run { for segment in segments { try? loader.store.segments.discard(segment) } }
    }

    private func receive() async -> FetchFailure? {
        do {
            guard let (request, response, body) = try await acceptedAnswer() else { return nil }
            defer { response.cancel() }
            loader.origin.noteAnswer()
            await loader.noteAnswer(from: request.url)
            // However this ends, the bytes that arrived are kept.
            defer { for bytes in body.end() { take(bytes) } }
            noteFraming(response.head)
            while try await mayReceive() {
                guard let bytes = try await body.next() else {
                    try await reachedEnd()
                    noteEnd()
                    return nil
                }
                take(bytes)
            }
            if loader.look({ $0.fetches[id]?.awaitsEnd ?? false }) {
                do {
                    // The body must end here.
                    guard let more = try await body.next() else {
                        noteEnd()
                        return nil
                    }
                    take(more)
                } catch is OriginFailure {
                    // The failure does not matter, because all bytes that the head states have arrived.
                    noteEnd()
                }
            }
            return nil
        } catch is CancellationError {
            return nil
        } catch let failure as OriginFailure {
            // Keep the bytes that arrived before the connection broke; the reader continues after them.
            noteEnd()
            if failure.kind == .unreachable { loader.origin.contact.note(isReachable: false, now: .now) }
            // The origin is not at fault if it drops a client that takes nothing.
            if failure.kind != .interrupted || !loader.look({ $0.fetches[id]?.hasStoodStill ?? false }) {
                loader.origin.errors.count(failure)
            }
            return .origin(failure)
        } catch {
            return .final(
                error as? VaultError ?? VaultError(.storage, "a fetch failed unexpectedly: \(error)"))
        }
    }

    /// Records whether only the end of the body can prove that the body is just the range. An origin may send the whole
    /// file under the head of a range, and framing without a length does not reveal that.
    private func noteFraming(_ head: OriginHead) {
        let isFramed = head.fields["Content-Length"] != nil && head.fields["Transfer-Encoding"] == nil
        loader.update { state in
            let start = state.fetches[id]?.start ?? 0
            state.fetches[id]?.isUnproven = !isFramed && start > 0
        }
    }

    private func noteEnd() { loader.update { $0.fetches[id]?.isUnproven = false } }

    /// Returns an answer with a valid head; nil if the fetch is no longer needed.
    private func acceptedAnswer() async throws
        -> (request: OriginRequest, response: any OriginResponse, body: PeekableBody)?
    {
        var what = Asked.rangeUnlessChanged
        while true {
            let time = loader.store.index.now()
            let makeRequest = { [what] url in self.makeRequest(to: url, for: what) }
            guard let (request, response) = try await loader.origin.ask(for: makeRequest) else { return nil }
            let body = PeekableBody(response)
            do {
                try await accept(response.head, body, asked: request, at: time)
                return (request, response, body)
            } catch let again as AskAgain {
                response.cancel()
                if what != .whole { what = again.what }
            } catch let failure as OriginFailure
                where failure.kind == .invalidResponse && [206, 416].contains(response.head.status) && what != .whole
            {
                // Some origins answer range requests wrongly but send the whole resource correctly.
                loader.origin.errors.count(failure)
                response.cancel()
                what = .whole
            } catch {
                response.cancel()
                throw error
            }
        }
    }

    /// The error thrown to repeat a request, because its condition no longer applies and its answer depends on that
    /// condition.
    private struct AskAgain: Error {
        var what = Asked.rangeUnlessChanged
    }

    /// What a request asks for.
    private enum Asked {
        /// The wanted range if the representation is still the known one; otherwise the whole resource.
        case rangeUnlessChanged
        /// The wanted range of whatever representation the origin has.
        case range
        case whole
    }

    private func take(_ bytes: [UInt8]) {
        loader.change { state in
            let (used, effects) = state.received(bytes, by: id, now: .now)
            // Count the bytes before a reader that has its last byte can ask for the total.
            loader.store.countFetched(used)
            return effects
        }
    }

    private func makeRequest(to url: MediaURL, for what: Asked) -> OriginRequest? {
        let known = loader.known
        return loader.look { state in
            guard let fetch = state.fetches[id], fetch.isActive else { return nil }
            guard what != .whole else { return OriginRequest(url: url) }
            let isCut = fetch.end < state.known.information?.length ?? .max
            // A separate fetch's bytes may belong to any version.
            let condition = what == .rangeUnlessChanged && !fetch.isSeparate ? known?.validators.ifRange : nil
            return OriginRequest(url: url, first: fetch.start, end: isCut ? fetch.end : nil, ifRange: condition)
        }
    }

    /// Waits until the receiver may take more bytes; returns false if the transfer must end.
    private func mayReceive() async throws -> Bool {
        while true {
            try Task.checkCancellation()
            switch loader.update({ $0.fetches.mayReceive(id, now: .now) }) {
            case true?: return true
            case nil: return false
            case false?: await waitToReceive()
            }
        }
    }

    private func waitToReceive() async {
        await withTaskCancellationHandler {
            await loader.wait { state, waiter in state.fetches[id]?.receiverSignal.wait(waiter) ?? false }
        } onCancel: {
            loader.change { Effects(waking: $0.fetches[id]?.receiverSignal.raise()) }
        }
    }

    /// Checks the head of the answer, then passes what it states to the loader.
    private func accept(
        _ head: OriginHead, _ body: PeekableBody, asked: OriginRequest, at time: Int64
    ) async throws {
        // Date the answer before anything waits.
        let head = head.dated(loader.store.index.now())
        let review = AnswerReview(loader: loader, answer: head, body: body, asked: asked)
        try await review.awaitBeginning()
        // Process one answer at a time, so that two first answers, or two answers that bring the same change, do not
        // count as two changes. The representation that the bytes belong to is recorded before the next answer may
        // begin another one.
        try await loader.answers.exclusively {
            let content = try await takeIn(review, at: time)
            if head.isEndless, content.length == nil {
                loader.update { $0.known.isEndless = true }
            }
            let representation = loader.record.representation
            switch content {
            case .partial(let range, _):
                loader.change { $0.accept(id, end: range.upperBound, fromZero: false, of: representation) }
            case .whole(let length):
                loader.change {
                    $0.accept(id, end: length ?? $0.known.information?.length, fromZero: true, of: representation)
                }
            case .unsatisfiable(let total): try refuse(total)
            }
        }
    }

    private func takeIn(_ review: AnswerReview, at time: Int64) async throws -> ResponseContent {
        let asked = review.asked
        let keeps = loader.look { $0.fetches[id]?.keepsRepresentation ?? false }
        let decision = try await review.decide {
            !keeps && asked.first ?? 0 > FetchState.reach && isAwaited
        }
        let (known, head) = (loader.known, loader.heard(review.answer))
        switch decision {
        case .refuse(let failure): throw failure
        case .askAgain(let isUnconditional, _): throw AskAgain(what: isUnconditional ? .range : .rangeUnlessChanged)
        case .same(let content):
            noteStatedEnd(content)
            return try await fill(content, head, known, asked, time)
        case .other(let content, _):
            noteStatedEnd(content)
            guard known == nil || !keeps else {
                throw VaultError(.changed, "\(loader.url) has changed at its origin")
            }
            // A 416 of which the length is unknown says nothing about the resource.
            if known == nil, case .unsatisfiable(let total) = content, total != 0 { return content }
            var information = ResponseCheck.information(of: head, asked: asked, content: content)
            if case .whole = content, asked.ifRange != nil {
                // The origin sent the whole resource because the representation changed, which says nothing about range
                // support.
                information.supportsRanges = head.fields["Accept-Ranges"]?.isEqualIgnoringCase("bytes") ?? false
            }
            return try await begin(information, head, time, content, asked.url)
        }
    }

    private func noteStatedEnd(_ content: ResponseContent) {
        loader.update { $0.fetches[id]?.statedEnd = content.end }
    }

    /// Takes in an answer that belongs to the representation being read.
    private func fill(
        _ content: ResponseContent, _ head: OriginHead, _ known: ContentInformation?, _ asked: OriginRequest,
        _ time: Int64
    ) async throws -> ResponseContent {
        guard var known else { return content }
        let information = ResponseCheck.information(of: head, asked: asked, content: content)
        known.privateHosts = try await noteHosts(of: information, known)
        if case .unsatisfiable = content {
        } else {
            switch share(with: known, from: head.connectionOfVersion, asked.url) {
            case .fill: known.source = try await noteSource(asked.url, known)
            case .apart: return content
            case .begin: return try await begin(information, head, time, content, asked.url)
            case .nobodys: throw CancellationError()
            case .none:
                throw VaultError(
                    .changed, "\(loader.url) has no validator that shows whether it is unchanged; open it again")
            }
        }
        try await learn(information, content, known, asked)
        loader.confirm(by: head, asked: time)
        return content
    }

    /// Returns how the answer's bytes are used for the representation being read.
    private func share(
        with known: ContentInformation, from connection: UInt64?, _ url: MediaURL
    ) -> LoaderState.Share {
        let isSource = loader.versions.isSource(url, of: known)
        return loader.change { state in
            state.known.bind(by: loader.versions, at: url)
            return state.share(of: id, from: connection, isSource: isSource)
        }
    }

    /// Begins another representation with this answer.
    private func begin(
        _ information: ContentInformation, _ head: OriginHead, _ time: Int64, _ content: ResponseContent,
        _ url: MediaURL
    ) async throws -> ResponseContent {
        loader.update { state in
            // The fetch was separate only from the representation that ends now.
            if state.fetches[id]?.isSeparate == true { state.fetches[id]?.destination = .readers }
            for reader in state.readers.takers(of: id) { state.readers[reader.id]?.isSeparate = false }
        }
        try await loader.begin(
            information, Freshness(head.fields, asked: time), from: url, keeping: id,
            connection: head.connectionOfVersion, unsettledDate: head.unsettledDate)
        guard isAwaited else { throw CancellationError() }
        return content
    }

    /// Whether any of the fetch's readers can use another representation. A reader whose answer has begun cannot.
    private var isAwaited: Bool {
        loader.look { !$0.readers.awaiting(id).isEmpty }
    }

    /// Records the private hosts that further bytes of the representation come from, before any reader gets these
    /// bytes.
    private func noteHosts(of news: ContentInformation, _ known: ContentInformation) async throws -> Set<String>? {
        let isConfirmed = known.validators != Validators() || loader.look(\.present.isEmpty)
        let hosts = known.privateHosts(with: news, isConfirmed: isConfirmed)
        guard hosts != known.privateHosts, var information = loader.information else { return hosts }
        information.privateHosts = hosts
        try await loader.learn(information)
        return hosts
    }

    /// Records the URL that a representation's first bytes come from. A representation known only from HEAD has none
    /// recorded yet.
    private func noteSource(_ url: MediaURL, _ known: ContentInformation) async throws -> MediaURL? {
        guard loader.look(\.present.isEmpty), let information = loader.information else {
            return known.source
        }
        let named = loader.versions.naming(url, in: information)
        if named != information { try await loader.learn(named) }
        return named.source
    }

    private func learn(
        _ news: ContentInformation, _ content: ResponseContent, _ known: ContentInformation, _ asked: OriginRequest
    ) async throws {
        var information = known
        information.length = known.length ?? news.length
        if case .unsatisfiable(nil) = content, known.length == nil, let first = asked.first,
            loader.look({ $0.present.contains(first - 1) })
        {
            // The length was unknown, but nothing follows the last byte that is present.
            information.length = first
        }
        if case .unsatisfiable = content {
        } else {
            information.supportsRanges = news.supportsRanges
            // While no bytes are present, the type may come from HEAD, which some origins answer carelessly.
            if loader.look(\.present.isEmpty) { information.type = news.type ?? known.type }
        }
        if information != known { try await loader.learn(information) }
    }

    private func refuse(_ total: Int64?) throws {
        guard total != 0 else {
            loader.change { $0.accept(id, end: 0, fromZero: true) }
            return
        }
        var error = VaultError(
            .unsatisfiableRange, "the range begins at or past the end of the resource; request a range within it")
        error.length = total
        throw error
    }

    /// Records the length at the end of the body, if it was unknown.
    ///
    /// - Throws: ``OriginFailure`` if the body ended early.
    private func reachedEnd() async throws {
        let (present, end) = loader.look { state in
            (state.fetches[id]?.present ?? 0, state.fetches[id]?.end ?? 0)
        }
        if end == .max {
            // A separate transfer's bytes say nothing about the representation's length.
            guard !loader.change({ $0.endSeparateReaders(of: id) }) else { return }
            // If another answer begins a new representation first, it ends this fetch.
            try await loader.answers.exclusively {
                let known = loader.look { $0.fetches[id] == nil ? nil : $0.known.information }
                guard var information = known, information.length == nil else { return }
                information.length = present
                try await loader.learn(information)
            }
        } else if present < end {
            throw OriginFailure(.interrupted, "the answer ended early")
        }
    }
}

extension OriginHead {
    /// The `Last-Modified` field if it does not distinguish versions yet.
    fileprivate var unsettledDate: String? { validators.lastModified == nil ? fields["Last-Modified"] : nil }

    /// Whether the answer is a web radio stream, which has no end.
    var isEndless: Bool { fields.fields.contains { $0.name.lowercased().hasPrefix("icy-") } }
}
