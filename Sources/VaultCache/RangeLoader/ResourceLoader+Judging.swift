import VaultFetch
package import VaultModel
import VaultStorage

// Judges answers: obtains what ``AnswerJudge`` needs to decide, and records what it found about the origin.
extension ResourceLoader {
    /// Whether the origin's entity tags are ignored, by the operator's choice or because they were found to identify
    /// nodes.
    private var ignoresTags: Bool { look { ignoresTags($0.known.entityTags) } }

    private func ignoresTags(_ tags: EntityTagReliability) -> Bool {
        tags.ignoresTags || names.ignoresEntityTag(of: url.host)
    }

    /// The content information of the representation being read, without its entity tag if entity tags are ignored.
    package var known: ContentInformation? {
        guard var information = look({ $0.known.information }) else { return nil }
        if ignoresTags { information.validators = information.validators.withoutTag }
        return information
    }

    /// Returns a new answer's head, with a date in any case, and without its entity tag if entity tags are ignored.
    package func heard(_ head: OriginHead) -> OriginHead {
        let dated = head.dated(store.index.now())
        return ignoresTags ? dated.withoutEntityTag : dated
    }

    /// Whether one connection alone must fill the representation.
    ///
    /// This is so if the representation was imported, or if no validator distinguishes it from another version and the
    /// operator has not declared the content of the origin's host immutable. Each URL is judged separately, because
    /// another URL of the same title may serve other bytes.
    var isBound: Bool { isBound(at: urls.current.url) }

    /// Returns whether one connection alone must fill the representation when more of it is requested from this URL.
    func isBound(at url: MediaURL) -> Bool { look { isBound($0.known.information, $0.known.entityTags, at: url) } }

    /// Does the same as ``isBound(at:)`` for a state that is being changed, because the loader's own state may still be
    /// that of an earlier representation.
    func isBound(_ information: ContentInformation?, _ tags: EntityTagReliability, at url: MediaURL) -> Bool {
        information.map { isBound($0, at: url, ignoresTags: ignoresTags(tags)) } ?? false
    }

    private func isBound(_ information: ContentInformation, at url: MediaURL, ignoresTags: Bool) -> Bool {
        // Nothing shows that the origin has the imported bytes, even if its host is declared immutable.
        guard !information.isImported else { return true }
        guard information.validators.lastModified == nil else { return false }
        guard information.validators.strongTag == nil || ignoresTags else { return false }
        return !names.isImmutable(host: url.host) || !isSource(url, of: information)
    }

    /// Returns whether a representation's bytes came from this URL, comparing URLs as the key policy does.
    ///
    /// Without a content id they always did, because the key policy named the resource after the URL.
    func isSource(_ url: MediaURL, of information: ContentInformation) -> Bool {
        guard record.key.contentID != nil else { return true }
        guard let source = information.source else { return false }
        return names.areAlike(source, url)
            && names.isImmutable(host: source.host) == names.isImmutable(host: url.host)
    }

    /// Adds the URL of the first bytes to content information, if the resource may have several URLs.
    func naming(_ url: MediaURL, in information: ContentInformation) -> ContentInformation {
        guard record.key.contentID != nil else { return information }
        var information = information
        information.source = url
        return information
    }

    /// Returns the vault's entity tag for a representation.
    ///
    /// The tag is weak if no validator distinguishes the representation from another version.
    func name(_ entityTag: EntityTag, of information: ContentInformation) -> EntityTag {
        isBound(information, at: urls.current.url, ignoresTags: ignoresTags)
            ? EntityTag(weak: entityTag.opaque) : entityTag
    }

    /// The maximum number of requests made to get an answer from another node.
    private static let mostProbes = 5
    /// The maximum number of these requests if the answers have no date. One is enough, because an origin that sends
    /// two different tags in a row tags every answer anew.
    private static let mostProbesWithoutDate = 1

    /// Decides to what an answer belongs, obtaining the evidence that its head lacks. Only one caller at a time may call
    /// this.
    ///
    /// - Parameters:
    ///   - answer: the head, dated when it arrived.
    ///   - prefersRange: returns whether the requested range alone would be of use if the resource has changed.
    func decide(
        on answer: OriginHead, _ body: PeekableBody, asked: OriginRequest,
        prefersRange: () -> Bool = { false }, isOther: Bool = false
    ) async throws -> AnswerJudge.Decision {
        var evidence = AnswerJudge.Evidence()
        while true {
            let (known, head) = (judged(by: evidence), heard(answer))
            let judge = AnswerJudge(known: known, asked: asked, prefersRange: prefersRange(), isOther: isOther)
            switch judge.judge(head, evidence) {
            case .needs(.beginning):
                evidence.beginning = try await body.peek(atLeast: MediaType.pageBeginningByteCount)
            case .needs(.manifest):
                evidence.isUsableManifest = try await !isUnusable(body, ofType: head.fields["Content-Type"])
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
                    update { $0.known.entityTags.note(mine.validators, length: mine.length) }
                default: break
                }
                return decision
            }
        }
    }

    /// Waits for the first bytes of an answer if the decision on it depends on them, so that
    /// ``decide(on:_:asked:prefersRange:isOther:)`` does not keep other answers waiting.
    func awaitBeginning(
        of body: PeekableBody, _ answer: OriginHead, asked: OriginRequest, isOther: Bool = false
    ) async throws {
        let judge = AnswerJudge(known: judged(by: AnswerJudge.Evidence()), asked: asked, isOther: isOther)
        guard case .needs(.beginning) = judge.judge(heard(answer)) else { return }
        _ = try await body.peek(atLeast: MediaType.pageBeginningByteCount)
    }

    /// Returns what answers are judged by; nil if nothing is known.
    private func judged(by evidence: AnswerJudge.Evidence) -> AnswerJudge.Known? {
        guard let known else { return nil }
        // Only after the first bytes does a manifest matter, and finding out takes a record of the title.
        let isManifest = evidence.beginning != nil && holdsManifest
        return look { state in
            AnswerJudge.Known(
                information: known, unsettledDate: state.known.unsettledDate, hasBytes: !state.present.isEmpty,
                isManifest: isManifest, tags: state.known.entityTags)
        }
    }

    private func ignoreTags(of known: ContentInformation) async throws {
        var settled = known
        settled.validators = known.validators.withoutTag
        update { $0.known.entityTags.ignoreTags() }
        try await learn(settled)
    }

    /// Returns whether the origin, asked again, sends the same length and date with another entity tag.
    ///
    /// The time limit is short, because the answer that raised the question is held up meanwhile, and some origins send
    /// no second answer while a first is open.
    private func originVaries(otherThan validators: Validators, length: Int64?) async throws -> Bool {
        do {
            return try await contact.within(retryPolicy.probeTimeLimit) { [self] in
                try await probe(for: validators, length: length)
            }
        } catch is OriginReachability.TooSlow {
            return false
        } catch is OriginFailure {
            return false
        }
    }

    private func probe(for validators: Validators, length: Int64?) async throws -> Bool {
        for _ in 0..<(validators.lastModified == nil ? Self.mostProbesWithoutDate : Self.mostProbes) {
            guard let (request, response) = try await ask(for: { OriginRequest(url: $0, first: 0, end: 1) }) else {
                return false
            }
            response.cancel()
            let head = heard(response.head)
            guard let content = try? ResponseCheck.content(of: head, asked: request),
                content.length == nil || content.length == length, head.validators.entityTag != nil,
                head.validators.lastModified == validators.lastModified
            else { return false }
            if head.validators != validators { return true }
        }
        return false
    }
}
