/// The vault is owned by a service that can be asked.
struct ServiceFound: Error, Hashable, Sendable {}
