@testable import VaultService

extension RunningService {
    /// How many answers have been given, whatever was asked for.
    var answersGiven: Int {
        let family = server.api.metrics.own.first { $0.name == "mediavault_answers_total" }
        return Int(family?.samples.reduce(0) { $0 + $1.value } ?? 0)
    }
}
