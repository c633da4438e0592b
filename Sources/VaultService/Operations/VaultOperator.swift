/// What can be done to a vault, by its owner: in this process, or in the service that owns it.
package protocol VaultOperator: Sendable {
    /// Counts and state of the vault.
    func status() async throws -> StatusDocument

    /// Some resources: the first, or those after the end of the page before.
    func resources(after: String?) async throws -> PageDocument

    /// What the vault holds of a resource; nil where it has never seen it.
    func resource(_ reference: ReferenceDocument) async throws -> ResourceDocument?

    /// Fetches what is missing of a resource; returns when all of it is durable, or at once where it is detached.
    ///
    /// - Parameter progress: told ten times a second at most.
    func download(_ order: DownloadOrder, progress: (ProgressDocument) async throws -> Void) async throws
}
