@testable import VaultService

extension RunningService {
    /// The number of answers that the service has sent, to requests of any kind.
    var answersGiven: Int {
        let family = server.api.metrics.own.first { $0.name == "mediavault_http_requests_total" }
        return Int(family?.samples.reduce(0) { $0 + $1.value } ?? 0)
    }
}
