import VaultModel
import VaultStorage

/// Seals what a fetch brings into segments, on the pool's threads, behind the receiver.
struct FetchSealer {
    let id: FetchState.ID
    let loader: ResourceLoader

    func run() async {
        await withTaskExecutorPreference(loader.pool) {
            let sink = SegmentSink(loader: loader, fetch: id)
            while true {
                switch loader.change({ $0.sealWork(id) }) {
                case .wait:
                    await loader.wait { state, waiter in state.waitToSeal(id, waiter) }
                case .seal(let bytes, let offset):
                    attempt(sink, { try sink.seal(bytes, at: offset) })
                case .close:
                    attempt(sink, { try sink.close() })
                case .finish:
                    if attempt(sink, { try sink.close() }) { return }
                }
            }
        }
    }

    /// Does a piece of work. Where the store refuses, the readers go on without it: caching is never the reason that
    /// playback fails. A full disk is given room, and the bytes that did not fit are sealed once more.
    ///
    /// - Returns: false where there is more to seal for that.
    @discardableResult
    private func attempt(_ sink: SegmentSink, _ work: () throws -> Void) -> Bool {
        do {
            try work()
            return true
        } catch {
            let failure = error as? VaultError ?? VaultError(.storage, "the store failed: \(error)")
            // Room first: what was written counts only once the index could be told.
            let hasRoom = failure.code == .diskFull && loader.store.makeDiskRoom()
            let lost = sink.giveUp()
            if hasRoom, loader.change({ $0.rewind(id, lost: lost) }) { return false }
            loader.change { $0.storeFailed(id, segment: lost, failure) }
            return true
        }
    }
}
