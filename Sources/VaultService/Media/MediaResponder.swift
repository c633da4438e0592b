import Hummingbird
import Logging
import MediaVault
import NIOCore
import VaultModel

/// Answers requests for media that may be answered.
struct MediaResponder: Sendable {
    let vault: Vault

    func respond(to request: MediaRequest, for url: MediaURL, context: ServiceContext) async throws -> Response {
        let watch = ClientWatch(context.channel)
        do {
            switch (request.method, request.wanted) {
            case (.head, _): return try await head(url, watch, context)
            case (.get, .nothing) where !request.isConditional:
                let information = try await watch.during { [vault] in try await vault.information(for: url) }
                return Response(ErrorAnswer.unsatisfiable(length: information.length), context: context)
            case (.get, _):
                let (reader, isRanged) = try await open(url, request, watch)
                return media(reader, isRanged: isRanged, watch, context)
            }
        } catch let error as VaultError {
            context.logger.debug("no media", metadata: ["reason": "\(error.code)"])
            let isMissing = error.code == .notHeld || error.code == .unreachable
            let held = isMissing ? (try? await vault.summary(of: url))?.held : nil
            return Response(
                ErrorAnswer.answer(to: error, held: held ?? []), isHead: request.method == .head, context: context)
        }
    }

    private func head(_ url: MediaURL, _ watch: ClientWatch, _ context: ServiceContext) async throws -> Response {
        let information = try await watch.during { [vault] in try await vault.information(for: url) }
        let plan = AnswerPlan(MediaFacts(information, try await vault.summary(of: url)), isRanged: false)
        return Response(headOf: plan, context: context)
    }

    private func media(
        _ reader: MediaReader, isRanged: Bool, _ watch: ClientWatch, _ context: ServiceContext
    ) -> Response {
        let plan = AnswerPlan(MediaFacts(reader), isRanged: isRanged)
        let body = MediaBody(reader: reader, length: plan.length, channel: context.channel, watch: watch)
        return Response(plan, body, context: context)
    }

    /// Opens a reader for what is to be answered; the second value says whether that is the range asked for.
    ///
    /// `If-Range` is compared with the tag that the vault itself gives a representation, and only a reader knows it.
    private func open(
        _ url: MediaURL, _ request: MediaRequest, _ watch: ClientWatch
    ) async throws -> (reader: MediaReader, isRanged: Bool) {
        var unsatisfiable = VaultError(.unsatisfiableRange, "the range asked for is no range")
        if case .single(let range) = request.wanted {
            do {
                let reader = try await watch.during { [vault] in try await vault.read(url, range: range) }
                guard !request.rangeCounts(for: reader.entityTag) else { return (reader, true) }
                reader.cancel()
            } catch let error as VaultError where error.code == .unsatisfiableRange && request.isConditional {
                unsatisfiable = error
            }
        }
        let reader = try await watch.during { [vault] in try await vault.read(url, range: .whole) }
        if request.isConditional, request.rangeCounts(for: reader.entityTag) {
            reader.cancel()
            unsatisfiable.length = unsatisfiable.length ?? reader.information.length
            throw unsatisfiable
        }
        return (reader, false)
    }
}
