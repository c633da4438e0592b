import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import NIOCore
import NIOHTTPTypes
import VaultModel

/// Answers what need not be waited for: a few bytes of media that is held, fresh, and in memory.
///
/// Most of what players ask for again is that. Whatever is anything else, ``ServiceResponder`` answers, errors too.
struct CacheHitResponder: Sendable {
    private let responder: ServiceResponder
    private let logger: Logger

    /// The most bytes of an answer: what a client that stands still may hold of the memory.
    private static let mostBytes = 256 << 10

    init(_ responder: ServiceResponder, logger: Logger) {
        self.responder = responder
        self.logger = logger
    }

    /// The answer to GET without a body, made without waiting; nil where another has to make it.
    ///
    /// - Parameter memory: the connection's.
    func answer(to request: HTTPRequest, on channel: any Channel, _ memory: inout Memory) -> HeldAnswer? {
        let (arrival, now) = (ContinuousClock.now, Int64(Date().timeIntervalSince1970))
        guard let target = request.path, Route(target: target) == .media,
            case .admitted(let grant) = responder.gate.verdict(on: request, about: .media, at: channel.localAddress),
            let reference = reference(of: target, now, &memory.admission)
        else { return nil }
        let asked = MediaRequest(.get, request.headerFields, now: now)
        guard !asked.needsFacts, let range = asked.range,
            let held = responder.vault.held(reference, range: range, atMost: Self.mostBytes),
            let body = open(held, channel.allocator)
        else { return nil }
        var context = ServiceContext(source: ApplicationRequestContextSource(channel: channel, logger: logger))
        let open = context.begin("GET", responder.api.metrics, at: arrival)
        open.concerns(Route.media.word)
        let common = head(of: held, now, &memory.head)
        var facts = common.facts
        facts.range = held.range
        let took = ContinuousClock.now - arrival
        facts.timing = ServerTiming(open: took, firstByte: took)
        let plan = AnswerPlan(facts, isRanged: range != .whole)
        open.givesMedia(plan.cacheStatus)
        context.log(status: plan.status, bytes: Int64(held.count))
        var head = HTTPResponse(status: .init(code: plan.status), headerFields: common.fields)
        head.headerFields.append(plan.ownFields)
        grant?.mark(&head.headerFields)
        head.headerFields[.requestID] = "\(open.id)"
        return HeldAnswer(head: head, body: body)
    }

    private func reference(of target: String, _ now: Int64, _ admission: inout Admission?) -> MediaReference? {
        let tokens = responder.vault.tokens
        if let known = admission, known.target == target, tokens.isGood(known.found, now: now) {
            return known.found.reference
        }
        admission = tokens.admission(ofTarget: target, now: now).map { Admission(target: target, found: $0) }
        return admission?.found.reference
    }

    /// Opens the bytes where the connection takes them from.
    private func open(_ held: HeldMedia, _ allocator: ByteBufferAllocator) -> ByteBuffer? {
        var buffer = allocator.buffer(capacity: held.count)
        // The buffer lends its room for this call, at least as many bytes as it is asked for.
        let count = unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: held.count) { room in
            unsafe held.open(into: UnsafeMutableRawBufferPointer(rebasing: room[..<held.count])) ? held.count : 0
        }
        return count == held.count ? buffer : nil
    }

    private func head(of held: HeldMedia, _ now: Int64, _ known: inout CacheHitHead?) -> CacheHitHead {
        if let known, known.isGood(for: held, now: now) { return known }
        let made = CacheHitHead(held, now: now)
        known = made
        return made
    }
}

extension CacheHitResponder {
    /// What a connection's last request came to, kept for the next.
    struct Memory {
        fileprivate var admission: Admission?
        fileprivate var head: CacheHitHead?
    }

    /// A target, and what its capability opens.
    fileprivate struct Admission {
        let target: String
        let found: TokenIssuer.Admission
    }
}

/// An answer that is all there.
struct HeldAnswer {
    let head: HTTPResponse
    let body: ByteBuffer
}

extension MediaRequest {
    /// The one range that is asked for; nil where there are several, or none that can be.
    fileprivate var range: RequestedRange? {
        switch wanted {
        case .whole: .whole
        case .single(let range): range
        case .several, .nothing: nil
        }
    }
}

/// What the heads of answers with held bytes of one representation have in common, for a second: made once for many
/// answers, as its dates alone take longer than all that differs.
struct CacheHitHead {
    /// Of the representation; range and timing are each answer's own.
    let facts: MediaFacts
    /// The fields that all of them have, `Date` among them.
    let fields: HTTPFields
    private let second: Int64

    /// - Parameter now: seconds since 1970.
    init(_ held: HeldMedia, now: Int64) {
        facts = MediaFacts(held, now: now)
        second = now
        var fields = HTTPFields(AnswerPlan(facts, isRanged: false).sharedFields)
        fields[.date] = HTTPDate(seconds: now)?.description
        self.fields = fields
    }

    /// Whether an answer with these bytes has them, too.
    func isGood(for held: HeldMedia, now: Int64) -> Bool {
        second == now && facts.entityTag == held.entityTag && facts.information == held.information
    }
}

/// Gives the answers of a ``CacheHitResponder`` on the connection's event loop: the request goes no further, and no task is
/// woken for it. Belongs to its channel's event loop.
///
/// Order is kept: while another request of the connection is being answered, or the client does not take what was
/// written, the next goes the long way.
final class CacheHitHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let responder: CacheHitResponder
    private var memory = CacheHitResponder.Memory()
    /// A request whose end has not come.
    private var head: HTTPRequest?
    /// How many requests were handed on that are not answered.
    private var handedOn = 0
    /// How many answers given here the system has not taken whole.
    private var unsent = 0
    /// Told while one was on its way: the connection shall end after it.
    private var mustEnd = false

    init(_ responder: CacheHitResponder) { self.responder = responder }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let request):
            // What is answered before all of it has come is handed on at once.
            guard handedOn == 0, context.channel.isWritable, request.method == .get, !request.hasBody,
                request.headerFields[.connection] != "close"
            else { return handOn(data, context) }
            head = request
        case .body: context.fireChannelRead(data)
        case .end:
            guard let request = head else { return context.fireChannelRead(data) }
            if let answer = responder.answer(to: request, on: context.channel, &memory) {
                head = nil
                give(answer, context)
            } else {
                handOn(wrapInboundOut(.head(request)), context)
                context.fireChannelRead(data)
            }
        }
    }

    private func handOn(_ request: NIOAny, _ context: ChannelHandlerContext) {
        head = nil
        handedOn += 1
        context.fireChannelRead(request)
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
        guard mustEnd, unsent == 0 else { return }
        mustEnd = false
        context.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // An informational head has no end.
        if case .end = unwrapOutboundIn(data) { handedOn -= 1 }
        context.write(data, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // Whoever closes a quiet connection does not know what is on its way.
        if event is ChannelShouldQuiesceEvent, unsent > 0 {
            mustEnd = true
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }
}

@available(*, unavailable)
extension CacheHitHandler: Sendable {}
