import Hummingbird
import Logging
import NIOCore

/// What a request is answered with at hand: its connection and its logger.
struct ServiceContext: InitializableFromSource {
    let channel: any Channel
    var logger: Logger

    init(source: ApplicationRequestContextSource) {
        channel = source.channel
        logger = source.logger
    }

    /// Notes an answer. The target is left out: it carries a capability, and often a token in its query.
    func log(status: Int, bytes: Int64) {
        logger.debug("answered", metadata: ["status": "\(status)", "bytes": "\(bytes)"])
    }
}
