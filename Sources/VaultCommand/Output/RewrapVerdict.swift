import MediaVault
import VaultService

/// What the command says of wrapping every key anew, and its exit code.
struct RewrapVerdict: Hashable, Sendable {
    /// A sentence each.
    let remarks: [String]
    let status: ExitStatus

    init(_ document: RewrapDocument) {
        let isNothing = document.keys == 0 && document.unopened == 0
        let done =
            isNothing
            ? "generation \(document.generation) wraps every key already"
            : "\(document.keys) keys are wrapped by generation \(document.generation)"
        // Nobody is shut out while a row is left that an older generation opens.
        guard document.unopened == 0 else {
            remarks = [
                done,
                "\(document.unopened) keys do not open and stay as they are: remove the titles that list cannot name",
            ]
            status = .integrity
            return
        }
        let act = Receipt.Act.rewrap
        let cutsOff = document.keys > 0 ? act.cutsOff : nil
        let leaves = document.older.isEmpty ? nil : act.leaves
        let effect = [cutsOff, leaves].compactMap(\.self).joined(separator: "; ")
        remarks = effect.isEmpty ? [done] : [done, effect]
        status = .done
    }
}
