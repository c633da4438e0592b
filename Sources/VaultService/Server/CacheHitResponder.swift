import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import NIOCore
import NIOHTTPTypes
import VaultModel

/// Answers requests for a few bytes of media that is held, fresh and in memory.
///
/// Most of the requests that players repeat are of this kind. ``ServiceResponder`` answers all others, including
/// errors.
struct CacheHitResponder: Sendable {
    /// Decides on requests.
    let gate: RequestGate
    private let responder: ServiceResponder
    private let logger: Logger

    /// Maximum bytes of an answer: the memory that a stalled client may occupy.
    private static let maxBytes = 256 << 10

    init(_ responder: ServiceResponder, logger: Logger) {
        gate = responder.gate
        self.responder = responder
        self.logger = logger
    }

    /// Makes the handler that answers a connection's requests with this responder.
    var makeHandler: @Sendable () -> any RemovableChannelHandler { { CacheHitHandler(self) } }

    /// Returns the answer to a GET without a body, without waiting; nil if ``ServiceResponder`` must answer.
    ///
    /// - Parameter shared: the head of the connection's last answer.
    func answer(to admission: RequestAdmission, on channel: any Channel, _ shared: inout CacheHitHead?) -> HeldAnswer? {
        guard case .admitted(let grant) = admission.verdict, let media = admission.media, let held = media.held,
            let resource = media.link.resource, held.isOneRun(atMost: Self.maxBytes)
        else { return nil }
        let isForViewer = media.link.scope.hidden != nil
        let common = head(of: held, resource, isForViewer: isForViewer, admission.now, &shared)
        guard !common.isManifest, let body = open(held, channel.allocator),
            common.isMedia || body.isMedia(at: held.range)
        else { return nil }
        var context = ServiceContext(source: ApplicationRequestContextSource(channel: channel, logger: logger))
        let open = context.begin("GET", admission.route, responder.api.metrics, at: admission.arrival)
        responder.api.playbacks.note(resource, through: media.link.scope, at: admission.now)
        var facts = common.facts
        facts.range = held.range
        let took = ContinuousClock.now - admission.arrival
        facts.timing = ServerTiming(open: took, firstByte: took)
        let plan = AnswerPlan(facts, isRanged: media.request.wanted != .whole)
        context.log(status: plan.status, bytes: Int64(body.readableBytes), of: facts.cacheStatus)
        var head = HTTPResponse(status: .init(code: plan.status), headerFields: common.fields)
        head.headerFields.append(plan.ownFields)
        grant?.mark(&head.headerFields)
        head.headerFields[.requestID] = "\(open.id)"
        return HeldAnswer(head: head, body: body)
    }

    /// Opens the bytes into the buffer from which the connection sends them.
    private func open(_ held: HeldMedia, _ allocator: ByteBufferAllocator) -> ByteBuffer? {
        let count = held.range.count
        var buffer = allocator.buffer(capacity: count)
        // The buffer lends its memory for this call, at least as many bytes as requested.
        let opened = unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { room in
            unsafe responder.vault.open(held, into: UnsafeMutableRawBufferPointer(rebasing: room[..<count])) ? count : 0
        }
        return opened == count ? buffer : nil
    }

    private func head(
        of held: HeldMedia, _ resource: NamedResource, isForViewer: Bool, _ now: Int64, _ known: inout CacheHitHead?
    ) -> CacheHitHead {
        if let known, known.isForViewer == isForViewer, known.isValid(for: held, now: now) { return known }
        let (vault, isMedia) = (responder.vault, responder.vault.isMedia(resource))
        let made = CacheHitHead(
            held, isManifest: vault.isManifest(resource), isMedia: isMedia, isForViewer: isForViewer, now: now)
        known = made
        return made
    }
}

/// A complete answer with held bytes.
struct HeldAnswer {
    let head: HTTPResponse
    let body: ByteBuffer
}

extension ByteBuffer {
    /// Whether these bytes of a resource show that it is media, whatever its type and path suggest.
    fileprivate func isMedia(at range: ByteRange) -> Bool {
        guard range.lowerBound == 0 else { return false }
        let start = Array(readableBytesView)
        return start.count >= ManifestContent.bytesNeeded(after: start) && ManifestContent.kind(of: start) == nil
    }
}

/// The part of the head that cache hits of one representation share for one second.
///
/// It is created once for many answers, because formatting its dates alone takes longer than creating all the parts
/// that differ.
struct CacheHitHead {
    /// The facts of the representation; range and timing differ for each answer.
    let facts: MediaFacts
    /// The fields of all these answers, including `Date`.
    let fields: HTTPFields
    /// Whether the resource is a manifest, which is never sent unchanged.
    let isManifest: Bool
    /// Whether the resource's first bytes showed that it is media.
    let isMedia: Bool
    /// Whether the head reveals nothing about the origin.
    let isForViewer: Bool
    private let information: ContentInformation
    private let representation: RepresentationID
    private let second: Int64

    /// - Parameter now: seconds since 1970.
    init(_ held: HeldMedia, isManifest: Bool, isMedia: Bool, isForViewer: Bool = false, now: Int64) {
        (self.isManifest, self.isMedia, self.isForViewer) = (isManifest, isMedia, isForViewer)
        facts = isForViewer ? MediaFacts(held, now: now).withoutOrigin : MediaFacts(held, now: now)
        information = held.information
        representation = held.representation
        second = now
        var fields = HTTPFields(AnswerPlan(facts, isRanged: false).sharedFields)
        fields[.date] = HTTPDate(seconds: now)?.description
        self.fields = fields
    }

    /// Returns whether an answer with these bytes shares this head.
    ///
    /// The tag follows from the compared values and from the key policy, changes of which take effect within the
    /// second.
    func isValid(for held: HeldMedia, now: Int64) -> Bool {
        second == now && representation == held.representation && information == held.information
    }
}

/// Writes the answers of a ``CacheHitResponder`` on the connection's event loop.
///
/// The handler does not pass such a request on, and wakes no task for it. It keeps the order of answers: while another
/// request of the connection is being answered, or the client does not accept what was written, it passes the next
/// request on. The handler belongs to its channel's event loop.
final class CacheHitHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let responder: CacheHitResponder
    /// The target of the last request, kept for the next one.
    private var verified: VerifiedTarget?
    /// The head of the last answer, kept for the next one.
    private var shared: CacheHitHead?
    /// The decision on the request last passed on, until ``ServiceResponder`` takes it.
    private var admission: RequestAdmission?
    /// The head of a request whose end has not arrived.
    private var head: HTTPRequest?
    /// How many requests were passed on and are not yet answered.
    private var passedOn = 0
    /// How many of this handler's answers the system has not yet accepted completely.
    private var unsent = 0
    /// Whether to end the connection after the answers that are being sent.
    private var mustClose = false

    init(_ responder: CacheHitResponder) { self.responder = responder }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let request):
            // A request that may be answered before it is complete is passed on at once.
            guard passedOn == 0, context.channel.isWritable, request.method == .get, !request.hasBody,
                request.headerFields[.connection] != "close"
            else { return passOn(data, context) }
            head = request
        case .body: context.fireChannelRead(data)
        case .end:
            guard let request = head else { return context.fireChannelRead(data) }
            let admission = responder.gate.admit(request, at: context.channel.localAddress, &verified)
            if let answer = responder.answer(to: admission, on: context.channel, &shared) {
                head = nil
                give(answer, context)
            } else {
                self.admission = admission
                passOn(wrapInboundOut(.head(request)), context)
                context.fireChannelRead(data)
            }
        }
    }

    private func passOn(_ request: NIOAny, _ context: ChannelHandlerContext) {
        head = nil
        passedOn += 1
        context.fireChannelRead(request)
    }

    /// Takes the admission of a request that the channel's handler passed on; nil if it made none for this request.
    static func takeAdmission(of request: HTTPRequest, on channel: any Channel) -> RequestAdmission? {
        // On another thread, or without a handler, the caller decides again.
        guard channel.eventLoop.inEventLoop, let me = try? channel.pipeline.syncOperations.handler(type: Self.self),
            let admission = me.admission.take(), admission.request == request
        else { return nil }
        return admission
    }

    private func give(_ answer: HeldAnswer, _ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.head(answer.head)), promise: nil)
        context.write(wrapOutboundOut(.body(answer.body)), promise: nil)
        unsent += 1
        let sent = context.eventLoop.makePromise(of: Void.self)
        let ends = NIOLoopBound(context, eventLoop: context.eventLoop)
        let me = NIOLoopBound(self, eventLoop: context.eventLoop)
        sent.futureResult.whenComplete { _ in me.value.noteSent(ends.value) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
    }

    private func noteSent(_ context: ChannelHandlerContext) {
        unsent -= 1
        guard mustClose, unsent == 0 else { return }
        mustClose = false
        context.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // Only the end counts, because an informational head has none.
        if case .end = unwrapOutboundIn(data) {
            passedOn -= 1
            if passedOn == 0 { admission = nil }
        }
        context.write(data, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The sender of this event closes an idle connection, and does not know that answers are being sent.
        if event is ChannelShouldQuiesceEvent, unsent > 0 {
            mustClose = true
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }
}

@available(*, unavailable)
extension CacheHitHandler: Sendable {}
