import VaultFetch
import VaultManifest
import VaultModel

/// Judges to what an origin's answer belongs: to the representation that is held, or to another one. A pure value.
///
/// ``ResponseCheck`` says what content an answer has, this says whose it is. If the head does not suffice, the verdict
/// names what is missing; the caller obtains it and asks again.
struct AnswerJudge {
    /// What is known of the resource when the answer arrives.
    struct Known {
        /// The representation that is held or being read, without its entity tag if entity tags are ignored.
        var information: ContentInformation
        /// A `Last-Modified` that was not usable as a validator, because it was within the second of its own response.
        var unsettledDate: String?
        /// Whether any of its bytes are present, so that another representation would replace something.
        var hasBytes = false
        /// Whether it is a manifest, and completely held.
        var isManifest = false
        /// The validators that answers have contradicted so far.
        var tags = EntityTagReliability()
    }

    /// What can be obtained about an answer beyond its head.
    struct Evidence {
        /// The first bytes of the body: ``MediaType/pageBeginningByteCount``, or all if there are fewer.
        var beginning: [UInt8]?
        /// Whether the body is a manifest that may replace the held one.
        var isUsableManifest: Bool?
        /// Whether the origin, asked again, sends the same length and date with another entity tag.
        var variesByNode: Bool?
    }

    enum Verdict: Equatable {
        case decided(Decision)
        /// The decision depends on evidence that is missing.
        case needs(Need)
        /// The answer comes from another node of the origin, which has the same version under another entity tag: from
        /// now on, entity tags do not count. `asksAgain` says that the node sent the whole resource in place of the
        /// range only because of its tag.
        case tagsIdentifyNodes(asksAgain: Bool)
    }

    enum Decision: Equatable {
        /// The answer belongs to the known representation.
        case same(ResponseContent)
        /// The answer belongs to another representation, or nothing was known. `byTagAlone` says that only the entity
        /// tag tells it from the known one.
        case other(ResponseContent, byTagAlone: Bool = false)
        /// The answer must not be used.
        case refuse(OriginFailure)
        /// The request must be sent again, without a condition if `isUnconditional`. `byTagAlone` is as for ``other``.
        case askAgain(isUnconditional: Bool, byTagAlone: Bool = false)
    }

    /// The evidence that a verdict depends on.
    enum Need: Equatable {
        /// ``Evidence/beginning``.
        case beginning
        /// ``Evidence/isUsableManifest``.
        case manifest
        /// ``Evidence/variesByNode``.
        case anotherAnswer
    }

    let known: Known?
    let asked: OriginRequest
    /// Whether the requested range alone would be of use if the resource has changed.
    var prefersRange = false
    /// Whether the origin is already known to have another representation.
    var isOther = false

    /// Judges an answer by its head, which must not have an entity tag if entity tags are ignored.
    func judge(_ head: OriginHead, _ evidence: Evidence = Evidence()) -> Verdict {
        do throws(OriginFailure) {
            if head.status == 304, !isOther, let validators = asked.ifChangedFrom, let known {
                return try notModified(head, validators, known)
            }
            let content = try ResponseCheck.content(of: head, asked: asked)
            guard let known else { return .decided(.other(content)) }
            if case .unsatisfiable(nil) = content, let first = asked.first, first < known.information.length ?? 0 {
                throw OriginFailure(.invalidResponse, "a range within the length was refused")
            }
            let isSame = !isOther && belongs(content, of: head, to: known)
            // Some origins answer HEAD carelessly, so GET decides what an answer is that does not belong.
            guard asked.method == .get else { return .decided(isSame ? .same(content) : .other(content)) }
            // Without a validator, a page agrees with anything.
            if !isSame || !known.information.validators.canVerify {
                try refuseDocument(head, in: known)
                if let need = try refusePage(content, known, evidence, isSame: isSame) { return .needs(need) }
            }
            return isSame ? same(content, head, known) : other(content, head, known, evidence)
        } catch {
            return .decided(.refuse(error))
        }
    }

    // MARK: The same

    /// Judges a 304 (RFC 9111 §4.3.3 and §4.3.4).
    private func notModified(
        _ head: OriginHead, _ validators: Validators, _ known: Known
    ) throws(OriginFailure) -> Verdict {
        guard validators != Validators() else {
            throw OriginFailure(.invalidResponse, "HTTP 304 in response to an unconditional request")
        }
        // The content that a GET without the condition would return.
        let content = ResponseContent.whole(length: known.information.length)
        guard let mine = validators.entityTag, let theirs = head.validators.entityTag, !mine.matchesWeakly(theirs)
        else { return .decided(.same(content)) }
        // A 304 with a different tag refers to another representation.
        guard asked.method == .head else { throw OriginFailure(.invalidResponse, "HTTP 304 with another entity tag") }
        return .decided(.other(content))
    }

    private func belongs(_ content: ResponseContent, of head: OriginHead, to known: Known) -> Bool {
        if let length = known.information.length {
            if let said = content.length, said != length { return false }
            if case .partial(let range, _) = content, range.upperBound > length { return false }
        }
        if case .unsatisfiable = content { return true }
        return known.information.validators.agree(with: head.validators) || leavesOutDate(head, known)
            || hasSettled(head, known)
    }

    /// Returns whether an answer differs from the known representation only in that its date is now usable.
    ///
    /// The date was too recent in the earlier answer, so it does not prove that both answers are one version.
    private func hasSettled(_ head: OriginHead, _ known: Known) -> Bool {
        guard let date = known.unsettledDate, head.validators.lastModified == date else { return false }
        return known.information.validators.agree(with: Validators(entityTag: head.validators.entityTag))
    }

    /// Returns whether a 206 lacks `Last-Modified` because `If-Range` was a date (RFC 9110 §15.3.7).
    ///
    /// A partial answer then means that the date still applies. An entity tag must not be omitted.
    private func leavesOutDate(_ head: OriginHead, _ known: Known) -> Bool {
        let validators = known.information.validators
        return head.status == 206 && head.validators == Validators() && validators.strongTag == nil
            && asked.ifRange != nil && asked.ifRange == validators.lastModified
    }

    /// Judges an answer that belongs: a node may have sent the whole resource in place of the range because it has a
    /// weak tag for the same version.
    private func same(_ content: ResponseContent, _ head: OriginHead, _ known: Known) -> Verdict {
        let validators = known.information.validators
        guard case .whole = content, let mine = validators.strongTag, asked.ifRange == mine.description,
            let theirs = head.validators.entityTag, theirs.isWeak, theirs.matchesWeakly(mine),
            validators.lastModified != nil
        else { return .decided(.same(content)) }
        return .tagsIdentifyNodes(asksAgain: true)
    }

    // MARK: Another

    private func other(
        _ content: ResponseContent, _ head: OriginHead, _ known: Known, _ evidence: Evidence
    ) -> Verdict {
        let isWhole = if case .whole = content { true } else { false }
        let byTagAlone = differsByTagAlone(content, head, known)
        if byTagAlone {
            let isBack = known.tags.isBack(head.validators, length: known.information.length)
            guard let isNode = isBack ? true : evidence.variesByNode else { return .needs(.anotherAnswer) }
            if isNode { return .tagsIdentifyNodes(asksAgain: isWhole && asked.ifRange != nil) }
        }
        // Everything before the range would have to arrive first.
        if isWhole, asked.ifRange != nil, prefersRange, known.information.supportsRanges {
            return .decided(.askAgain(isUnconditional: true, byTagAlone: byTagAlone))
        }
        return .decided(.other(content, byTagAlone: byTagAlone))
    }

    /// Returns whether only the entity tag shows that an answer belongs to another representation.
    private func differsByTagAlone(_ content: ResponseContent, _ head: OriginHead, _ known: Known) -> Bool {
        // A range is requested without any condition only after the origin sent the whole resource and that answer was
        // not from another node.
        let isDecided =
            asked.first != nil && asked.ifRange == nil && asked.ifChangedFrom == nil
            && known.information.validators.ifRange != nil
        if case .unsatisfiable = content { return false }
        let (mine, theirs) = (known.information.validators, head.validators)
        return !isDecided && (content.length == nil || content.length == known.information.length)
            && mine.entityTag != nil && theirs.entityTag != nil && mine.lastModified == theirs.lastModified
    }

    // MARK: What must not replace what is held

    /// Refuses an answer whose type shows that it must not replace what is held: a page in place of anything else, or a
    /// document in place of audio, video or an image.
    private func refuseDocument(_ head: OriginHead, in known: Known) throws(OriginFailure) {
        guard [200, 206].contains(head.status), let type = head.fields["Content-Type"], mayLose(known) else { return }
        let isMedia = known.information.type.map(MediaType.isKnownMedia) ?? false
        guard MediaType.isPage(type) || (MediaType.isDocument(type) && isMedia) else { return }
        throw OriginFailure(.invalidResponse, "it sent a web page or a document in place of media")
    }

    /// Refuses an answer whose bytes show that it must not replace what is held, whatever its type: a page in place of
    /// anything else, or something other than a manifest in place of a manifest.
    ///
    /// - Returns: the evidence that is missing for this; nil if none is.
    private func refusePage(
        _ content: ResponseContent, _ known: Known, _ evidence: Evidence, isSame: Bool
    ) throws(OriginFailure) -> Need? {
        // Only an answer with the whole resource begins where a page would begin.
        guard case .whole = content, mayLose(known) else { return nil }
        guard let beginning = evidence.beginning else { return .beginning }
        let failure = OriginFailure(.invalidResponse, "it sent a web page or an error in place of media")
        if MediaType.beginsPage(beginning) { throw failure }
        guard known.isManifest, !isSame else { return nil }
        guard let isUsable = evidence.isUsableManifest else { return .manifest }
        guard isUsable else { throw failure }
        return nil
    }

    /// Returns whether anything is held that a page would replace.
    private func mayLose(_ known: Known) -> Bool {
        known.hasBytes && !(known.information.type.map(MediaType.isPage) ?? false)
    }
}
