import VaultFetch
package import VaultModel
import VaultStorage

/// A value with the evidence for whether an origin's entity tags identify a resource's versions, or only the node that
/// answered.
///
/// The nodes behind one host name, such as those of a CDN, may send the same bytes with different entity tags.
/// Validators that reappear after others have contradicted them come from another node of the same origin.
struct EntityTagReliability {
    private var length: Int64?
    /// The contradicted validators, oldest first. They belong to seemingly different versions that have the same
    /// length.
    private var contradicted: [Validators] = []
    /// Whether the origin's entity tags were found to identify nodes rather than versions, so that they are ignored.
    private(set) var ignoresTags = false

    private static let most = 8

    /// Records validators that an answer with a seemingly different version has contradicted.
    mutating func note(_ validators: Validators, length: Int64?) {
        if length != self.length { (self.length, contradicted) = (length, []) }
        contradicted.removeAll { $0 == validators }
        contradicted.append(validators)
        if contradicted.count > Self.most { contradicted.removeFirst() }
    }

    /// Returns whether these validators have reappeared after being contradicted.
    func isBack(_ validators: Validators, length: Int64?) -> Bool {
        length == self.length && contradicted.contains(validators)
    }

    /// Marks the origin's entity tags as ignored from now on.
    mutating func ignoreTags() { ignoresTags = true }
}

// Decides which of an answer's validators count: those that identify a version rather than a node of the origin.
extension ResourceLoader {
    /// Whether the origin's entity tags are ignored, by the operator's choice or because they were found to identify
    /// nodes.
    private var ignoresTags: Bool { look { ignoresTags($0.entityTags) } }

    private func ignoresTags(_ tags: EntityTagReliability) -> Bool {
        tags.ignoresTags || names.ignoresEntityTag(of: url.host)
    }

    /// The content information of the representation being read, without its entity tag if entity tags are ignored.
    package var known: ContentInformation? {
        guard var information = look({ $0.information }) else { return nil }
        if ignoresTags { information.validators = information.validators.withoutTag }
        return information
    }

    /// ``known``, in the form that answers are compared with.
    var knownRepresentation: KnownRepresentation? {
        known.map {
            KnownRepresentation(
                validators: $0.validators, length: $0.length, unsettledDate: look { $0.unsettledDate })
        }
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
    func isBound(at url: MediaURL) -> Bool { look { isBound($0.information, $0.entityTags, at: url) } }

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

    /// Returns whether an answer with a seemingly different version comes from another node that has the same version.
    ///
    /// This is so if length and date are equal, and the entity tags alternate or differ each time. From then on, only
    /// the date counts or, without a date, the connection. Only one caller at a time may call this.
    func isFromOtherNode(_ head: OriginHead, _ content: ResponseContent) async throws -> Bool {
        if case .unsatisfiable = content { return false }
        guard let known, content.length == nil || content.length == known.length else { return false }
        let (mine, theirs) = (known.validators, head.validators)
        guard mine.entityTag != nil, theirs.entityTag != nil, mine.lastModified == theirs.lastModified else {
            return false
        }
        var isNode = look { $0.entityTags.isBack(theirs, length: known.length) }
        if !isNode { isNode = try await originVaries(otherThan: theirs, length: known.length) }
        guard isNode else {
            change { state in
                state.entityTags.note(mine, length: known.length)
                return Effects()
            }
            return false
        }
        try await settle(known)
        return true
    }

    /// Returns whether the origin sent the whole resource instead of a range because another node has a weak tag for
    /// the same version.
    ///
    /// If so, only the date counts from then on. Only one caller at a time may call this.
    func isFromNodeWithWeakTag(_ head: OriginHead, asked: OriginRequest) async throws -> Bool {
        guard let known, let mine = known.validators.strongTag, asked.ifRange == mine.description,
            let theirs = head.validators.entityTag, theirs.isWeak, theirs.matchesWeakly(mine),
            known.validators.lastModified != nil
        else { return false }
        try await settle(known)
        return true
    }

    private func settle(_ known: ContentInformation) async throws {
        var settled = known
        settled.validators = known.validators.withoutTag
        change { state in
            state.entityTags.ignoreTags()
            return Effects()
        }
        try await learn(settled)
    }

    /// Returns whether the origin, asked again, sends the same length and date with another entity tag.
    ///
    /// The time limit is short, because the answer that raised the question is held up meanwhile, and some origins send
    /// no second answer while a first is open.
    private func originVaries(otherThan validators: Validators, length: Int64?) async throws -> Bool {
        do {
            return try await contact.within(look { $0.retry.policy.probeTimeLimit }) { [self] in
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
            guard let content = try? ResponseCheck.judge(head, asked: request).content,
                content.length == nil || content.length == length, head.validators.entityTag != nil,
                head.validators.lastModified == validators.lastModified
            else { return false }
            if head.validators != validators { return true }
        }
        return false
    }
}
