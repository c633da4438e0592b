/// What an opening found out about a representation that was no longer fresh.
struct Inquiry: Hashable {
    /// Why it is given although nobody confirmed it; nil where it is fresh, was confirmed, or another has begun.
    var staleness: Staleness?
    /// The status of the origin's answer; nil where it was not asked, or gave none.
    var originStatus: Int?
}
