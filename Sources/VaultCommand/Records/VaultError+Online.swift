import MediaVault

extension VaultError {
    /// The same error where the origin could be asked: a byte is missing then because the origin did not give it.
    var online: VaultError {
        var error = self
        if code == .notHeld { error.code = .unreachable }
        return error
    }
}
