import VaultModel

/// The token that opens the administration of the service.
struct AdminToken: Sendable {
    private let bytes: [UInt8]

    init(_ text: String) { bytes = Array(text.utf8) }

    /// Whether the value of an `Authorization` field carries this token, in a time that does not depend on how much of
    /// it is right.
    func isCarried(by authorization: String?) -> Bool {
        guard let authorization, let blank = authorization.firstIndex(of: " "),
            authorization[..<blank].isEqualIgnoringCase("Bearer")
        else { return false }
        let given = Array(authorization[blank...].trimmingBlanks().utf8)
        var difference: UInt8 = given.count == bytes.count && !bytes.isEmpty ? 0 : 1
        for (index, byte) in bytes.enumerated() { difference |= byte ^ (index < given.count ? given[index] : 0) }
        return difference == 0
    }
}
