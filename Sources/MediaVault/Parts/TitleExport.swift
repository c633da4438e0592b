import VaultCache
import VaultCrypto
import VaultManifest
import VaultModel
import VaultStorage

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Exports a title to a folder that plays without the vault.
///
/// The exported manifest offers only the renditions that are held, and names files in the same folder.
struct TitleExport {
    let loaders: LoaderTable
    let title: NamedResource
    let path: String
    var fileSystem: any FileSystem = PosixFileSystem()

    private var store: VaultStore { loaders.environment.store }
    private var pool: BlockingPool { loaders.environment.pool }

    /// The content of the folder: the text of manifests, and the bytes of held resources.
    private struct Content {
        var texts: [(name: String, bytes: [UInt8])]
        var media: [(name: String, source: ExportSource, range: ByteRange)] = []

        var length: Int64 { texts.map { Int64($0.bytes.count) }.clampedSum.addingClamped(mediaLength) }

        var mediaLength: Int64 { media.map(\.range.length).clampedSum }
    }

    /// Writes the folder, which appears only when it is complete.
    func run(progress: (ExportProgress) async -> Void) async throws {
        let content = try await content()
        let (store, path, fileSystem) = (store, path, fileSystem)
        let folder = try await pool.run { try ExportFolder(path, fileSystem: fileSystem) }
        do {
            let total = content.length
            var written: Int64 = 0
            var pace = ExportPace()
            for (name, bytes) in content.texts {
                try await pool.run { try folder.add(name, bytes) }
                written += Int64(bytes.count)
            }
            for (name, source, range) in content.media {
                let file = try await pool.run { try folder.create(name) }
                var (source, position) = (source, range.lowerBound)
                while position < range.upperBound {
                    try Task.checkCancellation()
                    if pace.isDue { await progress(ExportProgress(written: written, total: total)) }
                    let (from, here) = (source, position)
                    (source, position) = try await pool.run {
                        var source = from
                        let bytes = try source.bytes(at: here, of: store).prefix(Int(clamping: range.upperBound - here))
                        let offset = here - range.lowerBound
                        try folder.naming { () throws(FileFailure) in try file.write(Array(bytes), at: offset) }
                        return (source, here + Int64(bytes.count))
                    }
                    written += position - here
                }
            }
            try Task.checkCancellation()
            try await pool.run { try folder.finish() }
            await progress(ExportProgress(written: total, total: total))
        } catch {
            try? await pool.run { folder.discard() }
            throw error
        }
    }

    // MARK: Contents

    /// Reads the manifests, and finds the resources that they name.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if any of these resources is missing.
    private func content() async throws -> Content {
        let (store, title) = (store, title)
        let (loader, lease) = try loaders.use(title)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        guard let record = loader.record.title, let held = try await pool.run({ try HeldManifest(title, in: store) })
        else { throw title.reference.notHeld }
        let reach = TitleReach(held, of: title, loader)
        let offered = record.heldPart(of: held.manifest)
        var plan = TitlePlan(offered)
        let lists = try await lists(of: plan, reach, variables: held.manifest.exports)
        plan.add(lists.map(\.list.manifest))
        let absent = try await absent(from: plan, reach)
        // Any other part that is not held was lost after it was fetched.
        let planned = 1 + plan.playlists.count + plan.parts.count
        guard absent.count <= planned - record.resources || absent.isEmpty else { throw title.reference.notHeld }
        var names = LocalNames(of: plan.resources.subtracting(absent))
        let places = [title.reference.url, held.base] + OriginTraces.places(of: plan.resources)
        let main = offered.local(&names, without: OriginTraces(places))
        var content = Content(texts: [(record.kind == .hls ? "index.m3u8" : "manifest.mpd", main)])
        for (url, list) in lists {
            guard let name = names.name(of: url, .playlist) else { continue }
            let traces = OriginTraces(places + [url, list.base])
            content.texts.append((name, list.manifest.local(&names, without: traces)))
        }
        let written = Set(content.texts.map(\.name))
        var sources: [MediaURL: ExportSource] = [:]
        for file in names.files where !written.contains(file.name) {
            guard let url = file.url else {
                content.texts.append((file.name, []))
                continue
            }
            let source = if let known = sources[url] { known } else { try await source(of: url, plan, reach) }
            sources[url] = source
            let whole = 0..<source.length
            let range = file.range.map { $0.clamped(to: whole) } ?? whole
            guard !range.isEmpty || whole.isEmpty else { throw title.reference.notHeld }
            content.media.append((file.name, source, range))
        }
        // Ranges may overlap, and one file may appear under many names, so a small manifest could otherwise fill the
        // disk.
        guard content.mediaLength <= sources.values.map(\.length).clampedSum.multipliedClamped(by: 2) else {
            throw VaultError(
                .invalidResponse,
                "the manifest of \(title.reference.url) names the same bytes again and again, so that a copy would be "
                    + "more than twice as large as the title; nothing was written")
        }
        return content
    }

    /// Reads the media playlists of the held renditions.
    private func lists(
        of plan: TitlePlan, _ reach: TitleReach, variables: [String: String]
    ) async throws -> [(url: MediaURL, list: HeldManifest)] {
        let store = store
        var lists: [(url: MediaURL, list: HeldManifest)] = []
        for url in plan.playlists {
            let resource = try await admitted(url, reach)
            let list = try await pool.run { try HeldManifest(resource, in: store, as: .hls, variables: variables) }
            guard let list else { throw resource.reference.notHeld }
            lists.append((url, list))
        }
        return lists
    }

    /// Returns those of the title's optional parts that are not held.
    private func absent(from plan: TitlePlan, _ reach: TitleReach) async throws -> Set<MediaURL> {
        var absent: Set<MediaURL> = []
        for url in plan.mayBeAbsent {
            do {
                _ = try await source(of: url, plan, reach)
            } catch let error as VaultError where error.code == .notHeld {
                absent.insert(url)
            }
        }
        return absent
    }

    /// Returns the resource that a URL of the title names, after checking that the title may use it.
    private func admitted(_ url: MediaURL, _ reach: TitleReach) async throws -> NamedResource {
        let resource = try await loaders.name(reach.reference(to: url))
        guard resource.reference.isDerived else { return resource }
        let (loader, lease) = try loaders.use(resource)
        defer { withExtendedLifetime(lease) {} }
        try await DerivedAccess(to: loader, for: resource.reference).admit()
        return resource
    }

    /// Returns the source of a part's bytes, from any place where the part is held.
    private func source(of url: MediaURL, _ plan: TitlePlan, _ reach: TitleReach) async throws -> ExportSource {
        for place in plan.alternatives[url] ?? [] {
            do {
                return try await source(of: place, reach)
            } catch let error as VaultError where error.code == .notHeld {}
        }
        return try await source(of: url, reach)
    }

    private func source(of url: MediaURL, _ reach: TitleReach) async throws -> ExportSource {
        let (store, resource) = (store, try await admitted(url, reach))
        return try await pool.run { try ExportSource(store, resource.id, url) }
    }
}

/// A folder that appears under its final name only once it is complete and durable. All calls block.
private final class ExportFolder: Sendable {
    private let path: String
    private let temporary: String
    private let fileSystem: any FileSystem
    private let names = Locked<[String]>([])

    /// Creates a folder under a temporary name beside the final one.
    init(_ path: String, fileSystem: any FileSystem) throws {
        let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        var status = stat()
        guard unsafe lstat(path, &status) != 0 else {
            throw VaultError(
                .invalidArgument, "\(path) already exists; a title becomes a folder, so give the path of a new one")
        }
        self.path = path
        self.fileSystem = fileSystem
        temporary =
            PosixFileSystem.folder(of: path) + "/.mediavault-" + Hex.encode(try SecureRandom.bytes(8, "export"))
            + ".part"
        try naming { () throws(FileFailure) in try fileSystem.createDirectory(temporary) }
    }

    /// Creates an empty file, which the caller writes.
    func create(_ name: String) throws -> any StoredFile {
        names.withLock { $0.append(name) }
        return try naming { () throws(FileFailure) in try fileSystem.create(temporary + "/" + name) }
    }

    /// Adds a file with this content.
    func add(_ name: String, _ bytes: [UInt8]) throws {
        let file = try create(name)
        try naming { () throws(FileFailure) in try file.write(bytes, at: 0) }
    }

    /// Makes all files durable, and gives the folder its final name.
    func finish() throws {
        let names = names.withLock(\.self)
        try naming { () throws(FileFailure) in
            try fileSystem.synchronizeFiles(names, in: temporary)
            try fileSystem.synchronizeDirectory(temporary)
            // A rename can replace at most an empty folder.
            try fileSystem.rename(temporary, to: path)
            try ExportFile.synchronizeFolder(of: path, fileSystem)
        }
    }

    /// Removes the temporary folder and its files.
    func discard() {
        for name in names.withLock(\.self) { try? fileSystem.remove(temporary + "/" + name) }
        _ = unsafe rmdir(temporary)
    }

    /// Runs a file operation. Its errors name the folder that the caller chose.
    func naming<Result>(_ work: () throws(FileFailure) -> Result) throws -> Result {
        do throws(FileFailure) {
            return try work()
        } catch {
            throw ExportFile.failure(error, path)
        }
    }
}
