package import VaultModel

/// All bytes of a requested range, as they were found in the vault: held, fresh, and of one representation.
///
/// They are looked up once per request. The caller that answers the request then opens them without another lookup,
/// with either ``Playback/open(_:into:)`` or ``Playback/reader(of:)``.
package final class HeldMedia: Sendable {
    let found: LoaderState.Held
    let resource: NamedResource
    let loader: ResourceLoader

    init(found: LoaderState.Held, resource: NamedResource, loader: ResourceLoader) {
        (self.found, self.resource, self.loader) = (found, resource, loader)
    }

    /// The range of the bytes, which is not empty.
    package var range: ByteRange { found.range }

    /// The length, type, validators and range support of the representation.
    package var information: ContentInformation { found.information }

    /// The id of the representation.
    package var representation: RepresentationID { found.segment.representation }

    /// The vault's own entity tag for the representation.
    package var entityTag: EntityTag { loader.name(found.entityTag, of: found.information) }

    /// Returns whether there are at most `count` bytes, all in one run of one segment.
    package func isOneRun(atMost count: Int) -> Bool {
        range.length <= Int64(count) && found.run.upperBound >= range.upperBound
    }
}
