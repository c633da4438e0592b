import Hummingbird
import Logging
import NIOCore
import VaultModel

/// What a request is answered with at hand: its connection, its logger, and where it is counted.
struct ServiceContext: InitializableFromSource {
    let channel: any Channel
    private(set) var request: OpenRequest?
    private let source: Logger

    init(source: ApplicationRequestContextSource) {
        channel = source.channel
        self.source = source.logger
    }

    /// A logger whose lines carry the request's name. It is made when there is something to log: most answers log nothing.
    var logger: Logger {
        var logger = source
        // The library's own name for the request would be a second one.
        logger[metadataKey: "hb.request.id"] = nil
        if let request { logger[metadataKey: "request"] = "\(request.id)" }
        return logger
    }

    /// Gives the request its name, and counts it from now on.
    ///
    /// - Parameter arrival: when it came.
    mutating func begin(
        _ method: String, _ metrics: ServiceMetrics, at arrival: ContinuousClock.Instant = .now
    ) -> OpenRequest {
        let request = OpenRequest(method, metrics, at: arrival)
        self.request = request
        return request
    }

    /// Notes an answer.
    func log(status: Int, bytes: Int64) {
        guard let request else { return }
        request.answered(status, bytes: bytes)
        guard source.logLevel <= .info else { return }
        logger.info("answered", metadata: request.metadata(status: status, bytes: bytes))
    }

    /// Notes why there is no answer, or no more of it.
    func failed(_ error: VaultError) {
        request?.metrics.failed(error.code.description)
        guard source.logLevel <= .debug else { return }
        logger.debug("failed", metadata: ["reason": "\(error.code)"])
    }
}
