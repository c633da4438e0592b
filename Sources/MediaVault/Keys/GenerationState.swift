/// Where a generation of keys stands in its life.
public enum GenerationState: String, CaseIterable, Sendable {
    /// New resources use it.
    case current
    /// It opens what it wrapped, and nothing new uses it.
    case active
    /// It is being destroyed: retiring it again finishes that.
    case retiring
    /// Its key is destroyed.
    case retired
}
