/// How far a revocation has come: the step that is not known to be done.
enum RevocationStep: CaseIterable {
    case rotateRoot, rewrap, retire

    /// What is said where it was broken off: how things stand, and which commands go on.
    var remainder: String {
        switch self {
        case .rotateRoot:
            "the root key is not known to be another: copies of the keyring may open what they did; go on with "
                + "keys rotate --root and what opens the slots that stay, keys rewrap, and keys retire for each older "
                + "generation"
        case .rewrap:
            "a new root key is made, and copies of the keyring open the older generations still; go on with keys rewrap, "
                + "and keys retire for each older generation"
        case .retire:
            "a new root key is made, and every key is wrapped anew that opens; go on with keys retire for each older "
                + "generation that keys list shows"
        }
    }
}
