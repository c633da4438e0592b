import MediaVault
import VaultModel

extension VaultError {
    /// The error as those outside are told: where origins may be asked, a byte is missing because its origin did not give
    /// it.
    func told(in mode: VaultMode) -> VaultError {
        var error = self
        if code == .notHeld, mode.asksOrigins { error.code = .unreachable }
        return error
    }
}
