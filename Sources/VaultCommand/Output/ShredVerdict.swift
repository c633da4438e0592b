import MediaVault
import VaultService

/// What the command says of a shred as a whole, and its exit code.
struct ShredVerdict: Hashable, Sendable {
    /// Nil where nothing was shredded: what failed has been said.
    let remark: String?
    let status: ExitStatus

    /// - Parameter isQuick: whether older generations were to stay.
    init(_ document: ShredDocument, isQuick: Bool) {
        let problems = document.resources.compactMap(\.problem.value)
        let failure = problems.first.map { $0.error.map { ExitStatus($0.code) } ?? .failed }
        if problems.count == document.resources.count {
            (remark, status) = (nil, failure ?? .done)
        } else if document.outcome == Receipt.Outcome.destroyed.rawValue {
            remark = "generation \(document.generation) is current, and wraps every key; back the keyring up"
            status = failure ?? .done
        } else if isQuick {
            remark =
                "an older generation is still there: keys rotate, keys rewrap and keys retire destroy what wrapped the keys"
            status = failure ?? .done
        } else {
            remark =
                "not destroyed: a generation that wrapped the keys had to stay, because it wraps a key that does not open; "
                + "keys list shows it as retiring: remove the titles that list cannot name, then run keys retire for it"
            status = .integrity
        }
    }
}
