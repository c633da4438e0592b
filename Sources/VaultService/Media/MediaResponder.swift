import Hummingbird
import Logging
import MediaVault
import NIOCore
import VaultModel

/// Answers requests for media that may be answered.
struct MediaResponder: Sendable {
    let vault: Vault

    func respond(to request: MediaRequest, for reference: MediaReference, context: ServiceContext) async throws
        -> Response
    {
        let watch = ClientWatch(context.channel)
        do {
            switch (request.method, request.wanted) {
            case (.head, _): return try await head(reference, watch, context)
            case (.get, .nothing) where !request.isConditional:
                let head = try await watch.during { [vault] in try await vault.head(of: reference) }
                throw Self.nothing(of: head.information.length)
            case (.get, _):
                let (reader, isRanged) = try await open(reference, request, watch)
                return media(reader, isRanged: isRanged, watch, context)
            }
        } catch let error as VaultError {
            context.logger.debug("no media", metadata: ["reason": "\(error.code)"])
            let isMissing = [.notHeld, .unreachable, .integrity].contains(error.code)
            let held = isMissing ? (try? await vault.summary(of: reference))?.held : nil
            let mode = await vault.modeInForce(for: reference)
            return Response(
                ErrorAnswer.answer(to: error.told(in: mode), held: held ?? []), isHead: request.method == .head,
                context: context)
        }
    }

    private static func nothing(of length: Int64?) -> VaultError {
        var error = VaultError(.unsatisfiableRange, "the range asked for is no range; ask for bytes that there are")
        error.length = length
        return error
    }

    private func head(_ reference: MediaReference, _ watch: ClientWatch, _ context: ServiceContext) async throws
        -> Response
    {
        let head = try await watch.during { [vault] in try await vault.head(of: reference) }
        let plan = AnswerPlan(MediaFacts(head), isRanged: false)
        return Response(headOf: plan, context: context)
    }

    private func media(
        _ reader: MediaReader, isRanged: Bool, _ watch: ClientWatch, _ context: ServiceContext
    ) -> Response {
        let plan = AnswerPlan(MediaFacts(reader), isRanged: isRanged)
        let body = MediaBody(
            reader: reader, length: plan.length, channel: context.channel, watch: watch, executor: vault.executor)
        return Response(plan, body, context: context)
    }

    /// Opens a reader for what is to be answered; the second value says whether that is the range asked for.
    ///
    /// `If-Range` is compared with the tag that the vault gives the representation, before a byte is asked for.
    private func open(
        _ reference: MediaReference, _ request: MediaRequest, _ watch: ClientWatch
    ) async throws -> (reader: MediaReader, isRanged: Bool) {
        var counts = true
        if request.isConditional {
            let head = try await watch.during { [vault] in try await vault.head(of: reference) }
            counts = request.rangeCounts(for: head.entityTag)
            if counts, request.wanted == .nothing {
                throw Self.nothing(of: head.information.length)
            }
        }
        if counts, case .single(let range) = request.wanted {
            let reader = try await watch.during { [vault] in try await vault.read(reference, range: range) }
            // The representation may have changed between the two questions.
            if request.rangeCounts(for: reader.entityTag) { return (reader, true) }
            reader.cancel()
        }
        return (try await watch.during { [vault] in try await vault.read(reference, range: .whole) }, false)
    }
}
