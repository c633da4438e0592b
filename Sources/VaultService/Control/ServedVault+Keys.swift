import MediaVault
import NIOHTTP1

// The life of the keys.
extension ServedVault {
    package func keys() async throws -> KeysDocument { try await document(ControlQuestion(.GET, .keys)) }

    package func rotate() async throws -> KeysDocument { try await rotate(RotationOrder()) }

    package func rotateRoot(unlockedBy keys: [SlotKey], droppingOtherSlots: Bool) async throws -> KeysDocument {
        let slots = try keys.map { try SlotDocument($0) }
        return try await rotate(RotationOrder(root: true, slots: slots, dropSlots: droppingOtherSlots))
    }

    package func changeLocator() async throws -> KeysDocument { try await rotate(RotationOrder(locator: true)) }

    private func rotate(_ order: RotationOrder) async throws -> KeysDocument {
        try await document(ControlQuestion(.POST, .rotations, body: order))
    }

    package func rewrap(progress: (RewrapStep) async throws -> Void) async throws -> RewrapDocument {
        try await events(ControlQuestion(.POST, .rewraps), progress)
    }

    package func retire(_ generation: Int) async throws -> KeysDocument {
        try await document(ControlQuestion(.POST, .retirements, body: RetirementOrder(generation: generation)))
    }
}
