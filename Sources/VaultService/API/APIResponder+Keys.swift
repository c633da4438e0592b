import MediaVault

// The life of the keys.
extension APIResponder {
    func rotation(_ order: RotationOrder, _ context: ServiceContext) async throws -> KeysDocument {
        try order.check()
        if order.locator == true { return try await vault.changeLocator() }
        guard order.root == true else { return try await vault.rotate() }
        // The admin token is no reason to have files of the service's user read.
        guard context.isControl else {
            throw VaultError(
                .invalidArgument, "a new root key is made by the control socket alone; use keys rotate --root here")
        }
        return try await vault.rotateRoot(
            unlockedBy: (order.slots ?? []).map { try $0.key }, droppingOtherSlots: order.dropSlots ?? false)
    }
}
