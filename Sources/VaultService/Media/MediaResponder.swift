import Hummingbird
import Logging
import MediaVault
import NIOCore
import VaultModel

/// Answers admitted requests for media.
final class MediaResponder: Sendable {
    private let vault: Vault
    private let reference: MediaReference
    private let link: TokenIssuer.Admission?
    private let service: String
    private let playbacks: Playbacks?
    /// The viewer's right, whose loss ends the answer.
    private let right: ViewerRight?
    private let context: ServiceContext
    private let watch: DisconnectWatch
    private let arrival: ContinuousClock.Instant
    private let now: Int64
    /// Whether examining the resource's beginning has contacted the origin.
    private let hasLooked = Locked(false)

    /// - Parameters:
    ///   - link: the verified link through which a player made the request; nil to send bytes unchanged, even those of
    ///     a manifest.
    ///   - service: the service's scheme, host and port, as the player spells them.
    ///   - playbacks: the record of playbacks to which a player's request is added.
    ///   - letsFinish: whether an answer that has begun continues to its end even if the viewer loses the right to it.
    ///   - arrival: when the request arrived.
    ///   - now: the time of arrival in seconds since 1970.
    init(
        vault: Vault, reference: MediaReference, through link: TokenIssuer.Admission? = nil, at service: String = "",
        counting playbacks: Playbacks? = nil, letsFinish: Bool = false, context: ServiceContext,
        arrival: ContinuousClock.Instant, now: Int64
    ) {
        self.vault = vault
        self.reference = reference
        self.link = link
        self.service = service
        self.playbacks = playbacks
        right = letsFinish ? nil : ViewerRight(link?.scope, of: vault)
        self.context = context
        self.arrival = arrival
        self.now = now
        watch = DisconnectWatch(context.channel)
    }

    /// Answers a request.
    ///
    /// - Parameter found: the requested bytes, if the gate found that they are held and can be opened at once.
    func respond(to request: MediaRequest, _ found: HeldMedia? = nil) async throws -> Response {
        do {
            let resource: NamedResource
            if let known = link?.resource { resource = known } else { resource = try await named() }
            guard try await mayPlay(resource) else {
                return Response(ErrorAnswer.notFound, isHead: request.method == .head, context: context)
            }
            let held =
                link?.resource == nil
                ? request.immediateRange.flatMap { vault.playback.held(resource, range: $0) } : found
            if request.method == .get, let link, let playbacks {
                context.request?.keep(playbacks.begin(resource, through: link.scope, at: now))
            }
            // If the representation changes between two steps, the attempt is repeated. After three attempts, the
            // request fails.
            for _ in 0..<3 {
                if let response = try await attempt(request, of: resource, held) { return response }
            }
            throw Self.changed
        } catch let error as VaultError {
            context.failed(error)
            let isMissing = [.notHeld, .unreachable, .integrity].contains(error.code)
            let held = isMissing ? try await held() : []
            let mode = await vault.titles.modeInForce(for: reference)
            let told = error.told(in: mode)
            return Response(
                ErrorAnswer.answer(to: link?.scope.hidden == nil ? told : told.withoutOrigin, held: held),
                isHead: request.method == .head,
                context: context)
        }
    }

    private func named() async throws -> NamedResource {
        try await watch.during { [vault, reference] in try await vault.name(reference) }
    }

    /// Returns whether a link may open a resource. Without this check, a removed resource would be fetched and stored
    /// again.
    private func mayPlay(_ resource: NamedResource) async throws -> Bool {
        guard let link else { return true }
        guard !vault.playback.wasRemoved(resource, through: link.scope, now: now) else { return false }
        guard let hidden = link.scope.hidden else { return true }
        return try await watch.during { [vault] in
            guard try await vault.titles.hasTitle(hidden.title) else { return false }
            // A viewer's link must not lead to another title in the same folder of the origin.
            guard link.isBelow else { return true }
            return try await vault.playback.mayPlay(resource, below: hidden)
        }
    }

    /// Tries to answer a request; returns nil if the representation changed during the attempt, or turned out to be a
    /// manifest.
    private func attempt(
        _ request: MediaRequest, of resource: NamedResource, _ held: HeldMedia?
    ) async throws -> Response? {
        // Bytes after the beginning do not show whether the resource is a manifest, so the beginning is examined first.
        if link != nil, !request.showsBeginning {
            try await look(at: resource)
        }
        let isManifest = isManifest(resource)
        if isManifest, let response = try await manifest(request, of: resource) { return response }
        if let range = request.immediateRange { return try await single(range, of: resource, held, nil) }
        let hasLooked = hasLooked.withLock(\.self)
        let (found, took) = try await timed { [vault, now] in
            MediaFacts(try await vault.playback.head(of: resource), hasLooked: hasLooked, now: now)
        }
        guard isManifest || !self.isManifest(resource) else { return nil }
        let facts = told(found)
        var timed = facts
        timed.timing = ServerTiming(open: took, firstByte: nil)
        switch request.conditions.verdict(on: facts.entityTag, facts.lastModified) {
        case .failed: return Response(ErrorAnswer.failedCondition, isHead: request.method == .head, context: context)
        case .notModified: return Response(headOf: AnswerPlan(notModified: timed), context: context)
        case .hold: break
        }
        if request.method == .head {
            return Response(headOf: AnswerPlan(timed, isRanged: false), context: context)
        }
        return try await media(Selection(request, of: facts), of: resource, facts)
    }

    /// Returns those facts about a resource that the client may see.
    private func told(_ facts: MediaFacts) -> MediaFacts {
        link?.scope.hidden == nil ? facts : facts.withoutOrigin
    }

    private func look(at resource: NamedResource, isBegun: Bool = false) async throws {
        let hasAsked = try await watch.during { [vault] in try await vault.playback.examine(resource, isBegun: isBegun)
        }
        if hasAsked { hasLooked.withLock { $0 = true } }
    }

    /// - Parameter facts: the facts on which the request was evaluated.
    private func media(
        _ selection: Selection, of resource: NamedResource, _ facts: MediaFacts
    ) async throws -> Response? {
        let range: RequestedRange
        switch selection {
        // A 416 answer has to state the length (RFC 9110 §14.4). If the length is unknown, the range is ignored, which
        // is always allowed (§14.2).
        case .nothing where facts.information.length == nil: range = .whole
        case .nothing: throw Self.nothing(of: facts.information.length)
        case .whole: range = .whole
        case .single(let one): range = one
        case .several(let parts): return try await several(parts, of: resource, facts)
        }
        return try await single(range, of: resource, vault.playback.held(resource, range: range), facts)
    }

    /// Returns whether a player gets the resource's text rewritten. This is judged without contacting the origin.
    private func isManifest(_ resource: NamedResource) -> Bool { link != nil && vault.playback.isManifest(resource) }

    private func manifest(_ request: MediaRequest, of resource: NamedResource) async throws -> Response? {
        guard let link else { return nil }
        let (found, took) = try await timed { [vault, service] in
            try await vault.playback.manifest(resource, through: link, at: service)
        }
        guard let manifest = found else { return nil }
        var facts = told(MediaFacts(manifest, now: now))
        facts.timing = ServerTiming(open: took, firstByte: .now - arrival)
        return try ManifestAnswer(manifest.text, facts, boundary: vault.randomText).response(to: request, context)
    }

    /// - Parameters:
    ///   - held: the range's bytes, if they are held and can be opened at once.
    ///   - judged: the facts on which the request was evaluated; nil if evaluating it needed none.
    private func single(
        _ range: RequestedRange, of resource: NamedResource, _ held: HeldMedia?, _ judged: MediaFacts?
    ) async throws -> Response? {
        do {
            guard let (opened, facts) = try await open(range, of: resource, held, judged) else { return nil }
            return media(opened, AnswerPlan(facts, isRanged: range != .whole))
        } catch let error as VaultError where error.code == .unsatisfiableRange && error.length == 0 && range.isSuffix {
            return try await single(.whole, of: resource, nil, judged)
        }
    }

    private func several(
        _ parts: [ByteRange], of resource: NamedResource, _ judged: MediaFacts
    ) async throws -> Response? {
        let first = parts[0].asRequested
        guard
            let (opened, found) = try await open(
                first, of: resource, vault.playback.held(resource, range: first), judged)
        else { return nil }
        let reader = opened.reader
        var facts = found
        guard reader.range == parts[0], let total = facts.information.length else {
            // The part ends before a gap. It is sent alone, because an answer may contain less than was requested.
            return media(opened, AnswerPlan(facts, isRanged: true))
        }
        let (given, source) = try await watch.during { try await reader.obtainable(of: parts) }
        // If only one part can be obtained, an answer with one range suffices.
        guard given.count > 1, given[0] == parts[0] else { return media(opened, AnswerPlan(facts, isRanged: true)) }
        facts.cacheStatus = CacheStatus(
            source, reader.bypass(of: source), reader.staleness, originStatus: facts.originStatus)
        let multipart = Multipart(boundary: try vault.randomText(), type: facts.type, total: total, parts: given)
        let body = MultipartBody(
            multipart: multipart, first: reader, start: opened.start, channel: context.channel, watch: watch,
            right: right
        ) { [vault] part in
            let next = try await vault.playback.read(resource, range: part.asRequested)
            guard next.entityTag == reader.entityTag, next.range == part else {
                next.cancel()
                throw Self.changed
            }
            return next
        }
        return Response(AnswerPlan(facts, multipart), body, context: context)
    }

    private func media(_ opened: OpenedMedia, _ plan: AnswerPlan) -> Response {
        let body = MediaBody(
            reader: opened.reader, start: opened.start, length: plan.length, channel: context.channel, watch: watch,
            right: right)
        return Response(plan, body, context: context)
    }

    /// A reader, and the bytes that were already taken from it to determine the kind of content.
    private struct OpenedMedia: Sendable {
        let reader: MediaReader
        let start: [UInt8]?

        init(_ reader: MediaReader) async throws {
            self.reader = reader
            start = reader.range?.lowerBound ?? 0 == 0 ? try await reader.start() : nil
        }
    }

    /// Opens a reader; returns nil if the representation is not the one on which the request was evaluated, or turned
    /// out to be a manifest.
    private func open(
        _ range: RequestedRange, of resource: NamedResource, _ held: HeldMedia?, _ judged: MediaFacts?
    ) async throws -> (opened: OpenedMedia, facts: MediaFacts)? {
        let (opened, took) = try await opened(resource, range, held)
        let reader = opened.reader
        if let start = opened.start {
            vault.playback.note(start, of: reader, resource)
            // If these bytes are too few to show whether the resource is a manifest, its beginning is examined.
            if link != nil, !isManifest(resource), !vault.playback.isMedia(resource),
                ManifestContent.mayBeginText(start)
            {
                try await look(at: resource, isBegun: true)
            }
        }
        guard !isManifest(resource) else {
            reader.cancel()
            return nil
        }
        guard judged == nil || judged?.entityTag == reader.entityTag else {
            reader.cancel()
            return nil
        }
        var facts = told(MediaFacts(reader, after: judged, hasLooked: hasLooked.withLock(\.self), now: now))
        facts.timing = ServerTiming(open: took, firstByte: .now - arrival)
        return (opened, facts)
    }

    private func opened(
        _ resource: NamedResource, _ range: RequestedRange, _ held: HeldMedia?
    ) async throws -> (OpenedMedia, Duration) {
        let start = ContinuousClock.now
        if let held, let reader = vault.playback.reader(of: held) {
            return (try await OpenedMedia(reader), .now - start)
        }
        return try await timed { [vault] in try await OpenedMedia(try await vault.playback.read(resource, range: range))
        }
    }

    /// Performs the vault's work, for as long as the client stays connected, and measures how long it takes.
    private func timed<Value: Sendable>(
        _ question: @escaping @Sendable () async throws -> Value
    ) async throws -> (Value, Duration) {
        let start = ContinuousClock.now
        let value = try await watch.during(question)
        return (value, .now - start)
    }

    private func held() async throws -> [ByteRange] { (try? await vault.titles.heldRanges(of: reference)) ?? [] }

    private static let changed = VaultError(.changed, "the resource changed at its origin meanwhile; try again")

    static func nothing(of length: Int64?) -> VaultError {
        var error = VaultError(.unsatisfiableRange, "the requested range cannot be satisfied; request existing bytes")
        error.length = length
        return error
    }
}
