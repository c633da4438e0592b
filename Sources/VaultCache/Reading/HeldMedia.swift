package import VaultModel
import VaultStorage

/// All bytes of a requested range, as they were found in the vault: held, fresh, and of one representation.
///
/// They are looked up once per request. The caller that answers the request then opens them without another lookup,
/// with either ``Playback/open(_:into:)`` or ``Playback/reader(of:)``.
package final class HeldMedia: Sendable {
    let found: LoaderState.Held
    package let resource: NamedResource
    package let loader: ResourceLoader

    private init(found: LoaderState.Held, resource: NamedResource, loader: ResourceLoader) {
        (self.found, self.resource, self.loader) = (found, resource, loader)
    }

    /// Returns all requested bytes if they are held and fresh, and may be served for the reference; otherwise nil.
    ///
    /// - Parameter now: the current time, in seconds since 1970.
    package static func find(
        _ range: RequestedRange, of resource: NamedResource, in loader: ResourceLoader, now: Int64
    ) -> HeldMedia? {
        guard let found = loader.look({ $0.held(range, now: now) }),
            DerivedAccess(to: loader, for: resource.reference).mayGive(found.information)
        else { return nil }
        return HeldMedia(found: found, resource: resource, loader: loader)
    }

    /// The range of the bytes, which is not empty.
    package var range: ByteRange { found.range }

    /// The length, type, validators and range support of the representation.
    package var information: ContentInformation { found.information }

    /// The id of the representation.
    package var representation: RepresentationID { found.segment.representation }

    /// The vault's own entity tag for the representation.
    package var entityTag: EntityTag { loader.name(found.entityTag, of: found.information) }

    /// Opens the bytes into a buffer of the same size, if they form one run in a segment that is already open.
    ///
    /// - Returns: false if this would have to wait, or if a block does not open.
    package func open(into place: UnsafeMutableRawBufferPointer) -> Bool {
        // The buffer belongs to the caller, so its length may differ from the range's.
        guard isOneRun(atMost: place.count), let reader = loader.opened.reader(of: found.segment.id),
            let isOpen = try? unsafe reader.open(range, of: found.segment, into: place, mayWait: false), isOpen
        else { return false }
        loader.origin.urls.give(resource.reference)
        return true
    }

    /// Returns a reader's state; nil if the resource has since begun another representation.
    package func opening() -> Opening? {
        let reader = loader.update { $0.addReader(of: found) }
        return reader.map { Opening(found, reader: $0, entityTag: entityTag) }
    }

    /// Returns whether there are at most `count` bytes, all in one run of one segment.
    package func isOneRun(atMost count: Int) -> Bool {
        range.length <= Int64(count) && found.run.upperBound >= range.upperBound
    }
}
