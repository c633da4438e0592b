import Hummingbird
import MediaVault
import VaultModel

/// Answers requests that import files.
struct ImportResponder: Sendable {
    let vault: Vault

    /// Imports a file that a client on this machine sends.
    func importFile(_ request: Request, _ context: ServiceContext) async throws -> ImportReport {
        // A token must not let a client fill the disk, or add content that did not come from an origin.
        guard context.isControl else {
            throw VaultError(
                .invalidArgument, "files can be imported only through the control socket, on the service's machine")
        }
        let body = try await ImportBody(request.body)
        let reference = try await body.order.reference.reference(in: vault)
        let options = body.order.details.options
        try options.check()
        return try await vault.transfer.importFile(body, as: reference, options: options) { _ in }
    }
}
