import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import NIOCore
import NIOHTTPTypes
import VaultModel

/// Answers requests for a few bytes of media that are held, fresh and in memory.
///
/// Most of the requests that players repeat are of this kind. ``ServiceResponder`` answers all others, and reports all
/// errors.
struct CacheHitResponder: Sendable {
    /// The gate that decides whether requests are admitted.
    let gate: RequestGate
    private let responder: ServiceResponder
    private let logger: Logger

    /// The maximum number of bytes in an answer, which bounds the memory that a stalled client can occupy.
    private static let maxBytes = 256 << 10

    init(_ responder: ServiceResponder, logger: Logger) {
        gate = responder.gate
        self.responder = responder
        self.logger = logger
    }

    /// A closure that creates a connection's handler, which answers requests with this responder.
    var makeHandler: @Sendable () -> any RemovableChannelHandler { { CacheHitHandler(self) } }

    /// Returns, without waiting, the answer to a GET request that has no body; nil if ``ServiceResponder`` must answer.
    ///
    /// - Parameter shared: the head of the connection's last answer, which is updated if this answer needs another.
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

    /// Opens the bytes in a buffer from which the connection can send them.
    private func open(_ held: HeldMedia, _ allocator: ByteBufferAllocator) -> ByteBuffer? {
        let count = held.range.count
        var buffer = allocator.buffer(capacity: count)
        // For the duration of this call, the buffer lends its memory, which is at least as long as requested.
        let opened = unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { room in
            unsafe responder.vault.playback.open(held, into: UnsafeMutableRawBufferPointer(rebasing: room[..<count]))
                ? count : 0
        }
        return opened == count ? buffer : nil
    }

    private func head(
        of held: HeldMedia, _ resource: NamedResource, isForViewer: Bool, _ now: Int64, _ known: inout CacheHitHead?
    ) -> CacheHitHead {
        if let known, known.isForViewer == isForViewer, known.isValid(for: held, now: now) { return known }
        let (vault, isMedia) = (responder.vault, responder.vault.playback.isMedia(resource))
        let made = CacheHitHead(
            held, isManifest: vault.playback.isManifest(resource), isMedia: isMedia, isForViewer: isForViewer, now: now)
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
    /// Returns whether these bytes of a resource show that it is media, whatever its type and path suggest.
    fileprivate func isMedia(at range: ByteRange) -> Bool {
        guard range.lowerBound == 0 else { return false }
        let start = Array(readableBytesView)
        return start.count >= ManifestContent.bytesNeeded(after: start) && ManifestContent.kind(of: start) == nil
    }
}

/// The part of an answer's head that all cache hits of a representation share for one second.
///
/// The head is created once for many answers, because formatting its dates alone takes longer than creating all parts
/// that differ between answers.
struct CacheHitHead {
    /// The facts of the representation, without the range and timing, which differ for each answer.
    let facts: MediaFacts
    /// The fields that all these answers share, including `Date`.
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

    /// - Parameter now: the current time in seconds since 1970.
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

    /// Returns whether an answer that carries these bytes can use this head.
    ///
    /// The entity tag follows from the compared values and from the key policy. A change to the policy takes effect
    /// within the second.
    func isValid(for held: HeldMedia, now: Int64) -> Bool {
        second == now && representation == held.representation && information == held.information
    }
}

/// Writes a ``CacheHitResponder``'s answers on the connection's event loop.
///
/// The handler does not pass on a request that it answers itself, so no task is woken for it. To keep answers in order,
/// it passes the next request on while another request of the connection is being answered, or while the client does
/// not accept the written bytes. The handler belongs to its channel's event loop.
final class CacheHitHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let responder: CacheHitResponder
    /// The verified target of the last request, kept because the next request often has the same target.
    private var verified: VerifiedTarget?
    /// The head of the last answer, kept because the next answer can often use it.
    private var shared: CacheHitHead?
    /// The decision on the request that was last passed on; nil once ``ServiceResponder`` has taken it.
    private var admission: RequestAdmission?
    /// The head of a request whose end has not yet arrived.
    private var head: HTTPRequest?
    /// The number of requests that were passed on and have not yet been answered.
    private var passedOn = 0
    /// The number of this handler's answers that the system has not yet completely accepted for sending.
    private var unsent = 0
    /// Whether to end the connection once the answers that are being sent have been sent.
    private var mustClose = false

    init(_ responder: CacheHitResponder) { self.responder = responder }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let request):
            // Other requests are passed on at once, because they may be answered before they are complete.
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

    /// Removes and returns the admission of a request that the channel's handler passed on; returns nil if the handler
    /// has no admission for this request.
    static func takeAdmission(of request: HTTPRequest, on channel: any Channel) -> RequestAdmission? {
        // On another thread, or if the channel has no handler, the result is nil, and the caller decides again.
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
        // Only the end shows that the request is answered, because an answer may begin with an informational head,
        // which has no end.
        if case .end = unwrapOutboundIn(data) {
            passedOn -= 1
            if passedOn == 0 { admission = nil }
        }
        context.write(data, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The handler that acts on this event closes an idle connection, and does not know that answers are being sent.
        if event is ChannelShouldQuiesceEvent, unsent > 0 {
            mustClose = true
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }
}

@available(*, unavailable)
extension CacheHitHandler: Sendable {}
