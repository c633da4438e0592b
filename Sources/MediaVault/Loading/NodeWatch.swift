import VaultFetch
import VaultModel

/// What answers have said of content of one length that seemed to be different versions: what is said again after it was
/// contradicted comes from another node of the same origin. A value.
struct NodeWatch {
    private var length: Int64?
    /// The oldest first.
    private var contradicted: [Validators] = []
    /// Whether the origin's entity tags were found to tell nodes, not versions.
    private(set) var ignoresTags = false

    private static let most = 8

    /// One version is followed by what seems to be another.
    mutating func note(_ validators: Validators, length: Int64?) {
        if length != self.length { (self.length, contradicted) = (length, []) }
        contradicted.removeAll { $0 == validators }
        contradicted.append(validators)
        if contradicted.count > Self.most { contradicted.removeFirst() }
    }

    /// Whether this was said before, and contradicted since.
    func isBack(_ validators: Validators, length: Int64?) -> Bool {
        length == self.length && contradicted.contains(validators)
    }

    /// From now on entity tags say nothing.
    mutating func ignoreTags() { ignoresTags = true }
}

// Nodes of one origin that give the same bytes different entity tags.
extension ResourceLoader {
    /// Whether the origin's entity tags say nothing: the operator says so, or it was found out.
    private var ignoresTags: Bool { look { $0.nodes.ignoresTags } || names.ignoresEntityTag(of: url.host) }

    /// What is known of the representation that is read, as far as it counts.
    var known: ContentInformation? {
        guard var information = look({ $0.information }) else { return nil }
        if ignoresTags { information.validators = information.validators.withoutTag }
        return information
    }

    /// What an answer says, as far as it counts.
    func heard(_ head: OriginHead) -> OriginHead { ignoresTags ? head.withoutEntityTag : head }

    /// Whether nothing tells what is known from another version, and the operator has not said that there is none: then it
    /// is filled from one connection alone.
    var isBound: Bool { look { $0.information }.map(isBound) ?? false }

    private func isBound(_ information: ContentInformation) -> Bool {
        guard information.validators.lastModified == nil else { return false }
        guard information.validators.strongTag == nil || ignoresTags else { return false }
        return !names.isImmutable(host: url.host)
    }

    /// The vault's name for a representation: a weak one where nothing tells it from another version.
    func name(_ entityTag: EntityTag, of information: ContentInformation) -> EntityTag {
        isBound(information) ? EntityTag(weak: entityTag.opaque) : entityTag
    }

    /// How often is asked again what another node might say otherwise.
    private static let mostProbes = 5
    /// The same where there is no date: what is named otherwise twice in a moment has a name of its own for each answer.
    private static let mostProbesWithoutDate = 1
    /// How long all of that may take.
    private static let probePatience: Duration = .seconds(2)

    /// Whether an answer that seems to be of another version comes from another node that has the same: length and date
    /// are equal, and entity tags go back and forth, or are others each time. From then on the date alone counts, and where
    /// there is none, the connection. One caller at a time.
    func isOfOtherNode(_ head: OriginHead, _ content: ResponseContent) async throws -> Bool {
        if case .unsatisfiable = content { return false }
        guard let known, content.length == nil || content.length == known.length else { return false }
        let (mine, theirs) = (known.validators, head.validators)
        guard mine.entityTag != nil, theirs.entityTag != nil, mine.lastModified == theirs.lastModified else {
            return false
        }
        var isNode = look { $0.nodes.isBack(theirs, length: known.length) }
        if !isNode { isNode = try await hears(otherThan: theirs, length: known.length) }
        guard isNode else {
            change { state in
                state.nodes.note(mine, length: known.length)
                return Effects()
            }
            return false
        }
        try await settle(known)
        return true
    }

    /// Whether the whole was sent in place of a range because another node calls the same version by a weak tag: from then
    /// on the date alone counts. One caller at a time.
    func isOfWeakerNode(_ head: OriginHead, asked: OriginRequest) async throws -> Bool {
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
            state.nodes.ignoreTags()
            return Effects()
        }
        try await learn(settled)
    }

    /// Whether the origin, asked again, names the same length and date with another entity tag. It is not waited for long, as
    /// the answer that raised the question waits, and some give no second answer beside a first.
    private func hears(otherThan validators: Validators, length: Int64?) async throws -> Bool {
        do {
            return try await contact.within(Self.probePatience) { [self] in
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
            let head = response.head
            guard let content = try? ResponseCheck.judge(head, asked: request).content,
                content.length == nil || content.length == length, head.validators.entityTag != nil,
                head.validators.lastModified == validators.lastModified
            else { return false }
            if head.validators != validators { return true }
        }
        return false
    }
}
