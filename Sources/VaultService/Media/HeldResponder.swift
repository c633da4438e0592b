import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MediaVault
import NIOCore
import VaultModel

/// Answers what need not be waited for: a few bytes of media that is held, fresh, and in memory.
///
/// Most of what players ask for again is that. Whatever is anything else, ``ServiceResponder`` answers, errors too.
struct HeldResponder: Sendable {
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

    private func head(of held: HeldMedia, _ now: Int64, _ known: inout HeldHead?) -> HeldHead {
        if let known, known.isGood(for: held, now: now) { return known }
        let made = HeldHead(held, now: now)
        known = made
        return made
    }
}

extension HeldResponder {
    /// What a connection's last request came to, kept for the next.
    struct Memory {
        fileprivate var admission: Admission?
        fileprivate var head: HeldHead?
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
