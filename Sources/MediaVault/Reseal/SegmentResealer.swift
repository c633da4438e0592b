import VaultModel
import VaultStorage

/// Seals segments of one resource anew, each for itself, so that one can be sealed while another is synced.
struct SegmentResealer: Sendable {
    let loader: ResourceLoader

    enum Outcome: Sendable {
        case sealed
        /// Nothing is known about the bytes: the segment stays as it is.
        case unreadable
        /// It does not open: what fails is a gap from now on.
        case damaged
        /// It was removed, or condemned: the next look at its rows says what is left.
        case changed
        /// There is no room for it now.
        case full(VaultError)
        case failed(any Error)
    }

    /// Seals a segment anew, and has readers use what holds its bytes then.
    func seal(_ task: ResealTask) async -> Outcome {
        let (record, store) = (loader.record, loader.store)
        do {
            try Task.checkCancellation()
            guard let new = try await loader.pool.run({ try record.reseal(task) }) else { return .changed }
            loader.exchange([task.segment], for: new)
            try await loader.pool.run { store.removeResealed(task.segment, for: new) }
            return .sealed
        } catch SegmentFailure.unreadable {
            return .unreadable
        } catch let failure as SegmentFailure {
            await loader.condemn(task.segment, for: failure)
            return .damaged
        } catch let error as VaultError where error.code == .changed {
            return .changed
        } catch let error as VaultError where error.code == .diskFull {
            return .full(error)
        } catch {
            return .failed(error)
        }
    }
}
