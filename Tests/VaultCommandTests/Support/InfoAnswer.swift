/// `info --json`, as a script reads it.
struct InfoAnswer: Decodable, Equatable {
    var id: String?
    let url: String
    let size: Int64?
    let held: [[Int64]]
    let bytes: Int64
    let type: String?
    let etag: String?
    let `class`: String
    let generation: Int
}
