/// `status --json`, as a script reads it.
struct StatusAnswer: Decodable {
    struct Unlock: Decodable, Equatable {
        let method: String
        let restsWithVault: Bool
    }

    struct Service: Decodable, Equatable {
        let address: String
        let pid: Int32
    }

    let vault: String
    let bytesFetched: Int64
    let bytes: Int64
    let resources: Int
    let segments: Int
    let generation: Int
    let unlock: Unlock
    let keysLocked: Bool
    let swapInReach: Bool
    let service: Service?
}
