import Testing
import VaultModel

@testable import VaultManifest

@Suite("DASH corpus")
struct DASHCorpusTests {
    @Test("The corpus is there")
    func corpus() { #expect(DASHCorpus.names.count >= 30) }

    @Test("A manifest names exactly the files of its title, in order", arguments: DASHCorpus.names)
    func references(name: String) throws {
        let lab = try DASHLab(try DASHCorpus.bytes(name), name: name + ".mpd")
        #expect(try lab.references == DASHCorpus.references(name))
    }

    @Test("A player of the rewritten manifest asks the vault for the same files", arguments: DASHCorpus.names)
    func rewriting(name: String) throws {
        let lab = try DASHLab(try DASHCorpus.bytes(name), name: name + ".mpd")
        let rewritten = try lab.rewritten()
        #expect(rewritten.strays.isEmpty)
        #expect(rewritten.originals.compactMap(\.self) == lab.manifest.references.map(\.url))
        #expect(rewritten.manifest.isLive == lab.manifest.isLive)
    }

    @Test("A manifest that is written without links is the same manifest", arguments: DASHCorpus.names)
    func keeping(name: String) throws {
        let lab = try DASHLab(try DASHCorpus.bytes(name), name: name + ".mpd")
        let once = lab.manifest.rewritten { _ in nil }
        let again = try DASHLab(once, name: name + ".mpd")
        #expect(again.manifest.rewritten { _ in nil } == once)
        #expect(again.manifest.renditions == lab.manifest.renditions)
        #expect(again.manifest.duration == lab.manifest.duration)
    }

    @Test(
        "Every selection leaves files of the title only",
        arguments: DASHCorpus.names.filter { $0 != "refused-schemes" })
    func selecting(name: String) throws {
        let lab = try DASHLab(try DASHCorpus.bytes(name), name: name + ".mpd")
        for video in [RenditionSelection.Video.best, .worst, .height(400), .all] {
            for audio in [RenditionSelection.Audio.default, .all, .languages(["de"])] {
                let selected = lab.manifest.selecting(RenditionSelection(video: video, audio: audio, subtitles: .all))
                #expect(Set(selected.references).isSubset(of: lab.manifest.references))
                #expect(selected.references.isEmpty == lab.manifest.references.isEmpty)
                let once = selected.rewritten { _ in nil }
                #expect(try DASHLab(once, name: name + ".mpd").manifest.references == selected.references)
            }
        }
    }
}
