import VaultFetch
import VaultManifest
import VaultModel
import VaultStorage

/// Decides to what one answer of the origin belongs: obtains what ``AnswerJudge`` needs, and records what it found about
/// the origin.
struct AnswerReview {
    let loader: ResourceLoader
    /// The head, dated when it arrived.
    let answer: OriginHead
    let body: PeekableBody
    let asked: OriginRequest
    /// Whether the origin is already known to have another representation.
    var isOther = false

    /// The maximum number of requests made to get an answer from another node.
    private static let mostProbes = 5
    /// The maximum number of these requests if the answers have no date. One is enough, because an origin that sends
    /// two different tags in a row tags every answer anew.
    private static let mostProbesWithoutDate = 1

    /// Decides to what the answer belongs, obtaining the evidence that its head lacks. Only one caller at a time may
    /// call this.
    ///
    /// - Parameter prefersRange: returns whether the requested range alone would be of use if the resource has changed.
    func decide(prefersRange: () -> Bool = { false }) async throws -> AnswerJudge.Decision {
        var evidence = AnswerJudge.Evidence()
        while true {
            let (known, head) = (judged(by: evidence), loader.heard(answer))
            let judge = AnswerJudge(known: known, asked: asked, prefersRange: prefersRange(), isOther: isOther)
            switch judge.judge(head, evidence) {
            case .needs(.beginning):
                evidence.beginning = try await body.peek(atLeast: MediaType.pageBeginningByteCount)
            case .needs(.manifest):
                evidence.isUsableManifest = try await !isUnusable(ofType: head.fields["Content-Type"])
            case .needs(.anotherAnswer):
                evidence.variesByNode = try await originVaries(
                    otherThan: head.validators, length: known?.information.length)
            case .tagsIdentifyNodes(let asksAgain):
                if let known { try await ignoreTags(of: known.information) }
                if asksAgain { return .askAgain(isUnconditional: false) }
            case .decided(let decision):
                switch decision {
                case .other(_, byTagAlone: true), .askAgain(_, byTagAlone: true):
                    guard let mine = known?.information else { break }
                    loader.update { $0.known.entityTags.note(mine.validators, length: mine.length) }
                default: break
                }
                return decision
            }
        }
    }

    /// Waits for the first bytes of the answer if the decision on it depends on them, so that ``decide(prefersRange:)``
    /// does not keep other answers waiting.
    func awaitBeginning() async throws {
        let judge = AnswerJudge(known: judged(by: AnswerJudge.Evidence()), asked: asked, isOther: isOther)
        guard case .needs(.beginning) = judge.judge(loader.heard(answer)) else { return }
        _ = try await body.peek(atLeast: MediaType.pageBeginningByteCount)
    }

    /// Returns what the answer is judged by; nil if nothing is known.
    private func judged(by evidence: AnswerJudge.Evidence) -> AnswerJudge.Known? {
        guard let known = loader.known else { return nil }
        // Only after the first bytes does a manifest matter, and finding out takes a record of the title.
        let isManifest = evidence.beginning != nil && loader.holdsManifest
        return loader.look { state in
            AnswerJudge.Known(
                information: known, unsettledDate: state.known.unsettledDate, hasBytes: !state.present.isEmpty,
                isManifest: isManifest, tags: state.known.entityTags)
        }
    }

    // MARK: Entity tags

    private func ignoreTags(of known: ContentInformation) async throws {
        var settled = known
        settled.validators = known.validators.withoutTag
        loader.update { $0.known.entityTags.ignoreTags() }
        try await loader.learn(settled)
    }

    /// Returns whether the origin, asked again, sends the same length and date with another entity tag.
    ///
    /// The time limit is short, because the answer that raised the question is held up meanwhile, and some origins send
    /// no second answer while a first is open.
    private func originVaries(otherThan validators: Validators, length: Int64?) async throws -> Bool {
        do {
            return try await loader.origin.contact.within(loader.retryPolicy.probeTimeLimit) {
                try await probe(for: validators, length: length)
            }
        } catch  where error is OriginReachability.TooSlow || error is OriginFailure {
            return false
        }
    }

    private func probe(for validators: Validators, length: Int64?) async throws -> Bool {
        for _ in 0..<(validators.lastModified == nil ? Self.mostProbesWithoutDate : Self.mostProbes) {
            let exchange = try await loader.origin.ask { OriginRequest(url: $0, first: 0, end: 1) }
            guard let (request, response) = exchange else { return false }
            response.cancel()
            let head = loader.heard(response.head)
            guard let content = try? ResponseCheck.content(of: head, asked: request),
                content.length == nil || content.length == length, head.validators.entityTag != nil,
                head.validators.lastModified == validators.lastModified
            else { return false }
            if head.validators != validators { return true }
        }
        return false
    }

    // MARK: Manifests

    /// Returns whether the answer must not replace the held manifest. The body is peeked at as far as its end, but
    /// nothing is taken from it.
    ///
    /// A live playlist never replaces the manifest of a fetched title, or a playlist of such a title, because what
    /// looks live may be a truncated playlist.
    ///
    /// - Parameter type: the answer's media type.
    private func isUnusable(ofType type: String?) async throws -> Bool {
        let (url, record) = (loader.url, loader.record)
        let (limits, seat) = (ManifestLimits.standard, ManifestSeat(in: loader.manifestSemaphore))
        var wanted = ManifestSemaphore.smallBytes
        while try await body.peek(atLeast: wanted).count >= wanted {
            guard wanted <= limits.maxBytes, try await seat.mayTake(wanted + 1) else { return true }
            wanted = min(wanted * 2, limits.maxBytes + 1)
        }
        let bytes = try await body.peek(atLeast: 0)
        guard let kind = ManifestContent.kind(of: bytes) ?? ManifestDetection.kind(type: type, path: url.path) else {
            // Only the origin can know whether media have replaced the manifest.
            return !(type.map(MediaType.isKnownMedia) ?? false)
        }
        let isOfTitle = record.title != nil || record.metadata?.partOf.isEmpty == false
        return try await BlockingPool.manifests.run {
            guard let new = try? Manifest.usable(bytes, kind, of: url, at: url, limits: limits) else { return true }
            return isOfTitle && !new.isEnded
        }
    }
}
