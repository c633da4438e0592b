import VaultModel
import VaultStorage

// What is given without waiting for anybody.
extension Vault {
    /// A reader as ``read(_:range:)`` gives it, where nothing has to be waited for, because all that is asked for is held
    /// and fresh, and somebody has read of the resource lately; nil where that is not so, or anything is wrong.
    package func readHeld(_ reference: MediaReference, range: RequestedRange) -> MediaReader? {
        guard let (id, key) = try? names.nameAtHand(tokens.unwrapped(reference).settled()), loader(of: id) != nil,
            let (loader, lease) = try? use(id, key, reference), let opening = loader.openHeld(range)
        else { return nil }
        return reader(opening, loader, lease)
    }

    /// All that is asked for, where it is no more than so many bytes of one segment that is open already; nil where it is
    /// not, where anything has to be waited for, or is wrong.
    package func held(_ reference: MediaReference, range: RequestedRange, atMost count: Int) -> HeldMedia? {
        guard let (id, _) = try? names.nameAtHand(tokens.unwrapped(reference).settled()), let loader = loaderAtHand(id)
        else { return nil }
        let now = store.now()
        guard let held = loader.look({ $0.held(range, now: now) }), held.range.length <= Int64(count),
            held.run.upperBound >= held.range.upperBound, let reader = loader.opened.reader(of: held.segment.id)
        else { return nil }
        loader.addresses.give(reference)
        return HeldMedia(held, reader, entityTag: loader.name(held.entityTag, of: held.information)) { [self] in
            noteVisit(of: loader)
            answers.note([ByteTrace(held.range, .vault)], of: id, at: now)
        }
    }

    /// The loader of a resource, where there is one and nothing stands against using it.
    private func loaderAtHand(_ id: ResourceID) -> ResourceLoader? {
        loaders.withLock { loaders in
            guard let entry = loaders[id], !entry.isRemoving, !entry.loader.isBroken else { return nil }
            loaders[id]?.idleSince = .now
            return entry.loader
        }
    }

    /// Notes that a resource was asked for, unless nothing may tell of it.
    func noteVisit(of loader: ResourceLoader) {
        guard loader.look({ $0.mode != .noStore }) else { return }
        visits.withLock { $0.note(loader.record.id, hour: store.now() / 3600) }
    }
}
