import HTTPTypes
import Hummingbird
import NIOCore
import VaultModel

extension Response {
    /// A short answer; to HEAD its head alone.
    init(_ answer: Answer, isHead: Bool = false, context: ServiceContext) {
        var fields = HTTPFields(answer.fields)
        fields[.contentLength] = String(answer.body.count)
        context.log(status: answer.status, bytes: isHead ? 0 : Int64(answer.body.count))
        self.init(
            status: .init(code: answer.status), headers: fields,
            body: isHead ? ResponseBody() : ResponseBody(byteBuffer: ByteBuffer(bytes: answer.body)))
    }

    /// Media, as it comes from its readers.
    init(_ plan: AnswerPlan, _ body: some StreamedBody, context: ServiceContext) {
        self.init(
            status: .init(code: plan.status), headers: HTTPFields(plan.fields),
            body: ResponseBody { writer in
                var sent: Int64 = 0
                defer { context.log(status: plan.status, bytes: sent) }
                context.givesMedia(plan)
                do {
                    try await body.write(to: &writer, counting: &sent)
                } catch let error as VaultError {
                    context.failed(error)
                    throw error
                }
                try await writer.finish(nil)
            })
    }

    /// A long act that tells of itself line by line.
    init<Progress, Outcome>(_ events: EventStream<Progress, Outcome>, context: ServiceContext) {
        self.init(streaming: events, type: "application/x-ndjson", context: context)
    }

    /// What changes, as it changes.
    init(_ feed: EventFeed, context: ServiceContext) {
        self.init(streaming: feed, type: "text/event-stream", context: context)
    }

    private init(streaming body: some StreamedBody, type: String, context: ServiceContext) {
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

    /// The head of an answer with media.
    init(headOf plan: AnswerPlan, context: ServiceContext) {
        context.givesMedia(plan)
        context.log(status: plan.status, bytes: 0)
        // Without a length the encoder would end the body that HEAD has not by a last chunk: close instead.
        let isOpenEnded = plan.length == nil
        self.init(
            status: .init(code: plan.status), headers: HTTPFields(plan.fields),
            body: isOpenEnded ? .abandoned(on: context.channel) : ResponseBody())
    }

    /// No answer: the connection is closed.
    static func abandoned(context: ServiceContext) -> Response {
        Response(status: .serviceUnavailable, body: .abandoned(on: context.channel))
    }
}

extension ServiceContext {
    fileprivate func givesMedia(_ plan: AnswerPlan) {
        request?.givesMedia(plan.cacheStatus)
    }
}

extension ResponseBody {
    /// A body that is never sent: the connection is closed in its place.
    fileprivate static func abandoned(on channel: any Channel) -> ResponseBody {
        ResponseBody { _ in
            // The head goes out first.
            try await channel.eventLoop.submit {}.get()
            throw DisconnectWatch.ClientGone()
        }
    }
}

extension HTTPFields {
    /// Fields as the HTTP library wants them; it writes a blank for what may not stand in a value.
    init(_ fields: HeaderFields) {
        self.init()
        append(fields)
    }

    /// Adds such fields at the end.
    mutating func append(_ fields: HeaderFields) {
        reserveCapacity(count + fields.fields.count)
        for field in fields.fields {
            guard let name = FieldNames.name(field.name) else { continue }
            append(HTTPField(name: name, value: field.value))
        }
    }
}
