import MediaVault
import NIOHTTP1

// Viewers, and the titles that are shared with them.
extension RemoteVault {
    package func viewers() async throws -> ViewersDocument { try await document(ControlRequest(.GET, .viewers)) }

    package func addViewer(_ order: ViewerOrder) async throws -> ViewerDocument {
        try await document(ControlRequest(.POST, .viewers, body: order))
    }

    package func changeViewer(_ change: ViewerChange) async throws -> ViewerDocument {
        try await document(ControlRequest(.PATCH, .viewers, body: change))
    }

    package func removeViewer(_ id: String) async throws {
        let _: EmptyDocument = try await document(ControlRequest(.DELETE, .viewers, ["id": id]))
    }

    package func shares() async throws -> SharesDocument { try await document(ControlRequest(.GET, .shares)) }

    package func share(_ order: ShareOrder) async throws -> SharedDocument {
        try await document(ControlRequest(.POST, .shares, body: order))
    }
}
