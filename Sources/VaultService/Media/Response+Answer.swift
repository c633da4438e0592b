import HTTPTypes
import Hummingbird
import NIOCore
import VaultModel

extension Response {
    /// Creates a response that carries a short answer, or only its head if the request is HEAD.
    init(_ answer: Answer, isHead: Bool = false, context: ServiceContext) {
        var fields = HTTPFields(answer.fields)
        if answer.hasBody { fields[.contentLength] = String(answer.body.count) }
        context.log(status: answer.status, bytes: isHead ? 0 : Int64(answer.body.count))
        self.init(
            status: .init(code: answer.status), headers: fields,
            body: isHead ? ResponseBody() : ResponseBody(byteBuffer: ByteBuffer(bytes: answer.body)))
    }

    /// Creates a response that carries media, written as readers deliver it.
    init(_ plan: AnswerPlan, _ body: some StreamedBody, context: ServiceContext) {
        self.init(
            status: .init(code: plan.status), headers: HTTPFields(plan.fields),
            body: ResponseBody { writer in
                var sent: Int64 = 0
                defer { context.log(status: plan.status, bytes: sent, of: plan.cacheStatus) }
                do {
                    try await body.write(to: &writer, counting: &sent)
                } catch let error as VaultError {
                    context.failed(error)
                    throw error
                }
                try await writer.finish(nil)
            })
    }

    /// Creates a response with a body of unknown length.
    init(streaming body: some StreamedBody, type: String, context: ServiceContext) {
        var fields = HTTPFields(ProtectiveFields.all)
        fields[.contentType] = type
        self.init(
            status: .ok, headers: fields,
            body: ResponseBody { writer in
                var sent: Int64 = 0
                defer { context.log(status: 200, bytes: sent) }
                try await body.write(to: &writer, counting: &sent)
                try await writer.finish(nil)
            })
    }

    /// Creates a response that carries only the head of an answer with media.
    init(headOf plan: AnswerPlan, context: ServiceContext) {
        context.log(status: plan.status, bytes: 0, of: plan.cacheStatus)
        // Without a length, the encoder would write a last chunk, but an answer to HEAD has no body. The connection is
        // therefore closed instead.
        let isOpenEnded = plan.length == nil
        self.init(
            status: .init(code: plan.status), headers: HTTPFields(plan.fields),
            body: isOpenEnded ? .abandoned(on: context.channel) : ResponseBody())
    }

    /// Returns a response that closes the connection without an answer.
    static func abandoned(context: ServiceContext) -> Response {
        Response(status: .serviceUnavailable, body: .abandoned(on: context.channel))
    }
}

extension ResponseBody {
    /// Returns a body that closes the connection instead of being sent.
    fileprivate static func abandoned(on channel: any Channel) -> ResponseBody {
        ResponseBody { _ in
            // This waits until the head is written.
            try await channel.eventLoop.submit {}.get()
            throw DisconnectWatch.ClientGone()
        }
    }
}
