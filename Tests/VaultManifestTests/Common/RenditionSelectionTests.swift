import Testing
import VaultManifest

@Suite("Rendition selection")
struct RenditionSelectionTests {
    private func video(_ id: String, _ height: Int?, _ bandwidth: Int?) -> Rendition {
        var rendition = Rendition(id: id, kind: .video)
        (rendition.height, rendition.bandwidth) = (height, bandwidth)
        return rendition
    }

    private func audio(_ id: String, _ language: String?, isDefault: Bool = false, isForced: Bool = false) -> Rendition
    {
        var rendition = Rendition(id: id, kind: .audio)
        (rendition.language, rendition.isDefault, rendition.isForced) = (language, isDefault, isForced)
        return rendition
    }

    @Test(
        "One quality is chosen by height, then by bit rate",
        arguments: [
            (.best, "c"), (.worst, "a"), (.height(1080), "c"), (.height(720), "c"), (.height(719), "a"),
            (.height(1), "a"),
        ] as [(RenditionSelection.Video, String)])
    func quality(choice: RenditionSelection.Video, id: String) {
        let qualities = [video("b", 720, 1), video("c", 720, 2), video("a", 360, 9), video("d", 720, 2)]
        #expect(choice.chosen(from: qualities).map(\.id) == [id])
    }

    @Test("Without heights the bit rate decides, and a wanted height means the best")
    func noHeights() {
        let qualities = [video("a", nil, 1), video("b", nil, 3), video("c", nil, 2)]
        #expect(RenditionSelection.Video.height(100).chosen(from: qualities).map(\.id) == ["b"])
        #expect(RenditionSelection.Video.worst.chosen(from: qualities).map(\.id) == ["a"])
        #expect(RenditionSelection.Video.height(1).chosen(from: qualities + [video("d", 720, 1)]).map(\.id) == ["d"])
        #expect(RenditionSelection.Video.all.chosen(from: qualities) == qualities)
        #expect(RenditionSelection.Video.best.chosen(from: []).isEmpty)
    }

    @Test("Audio is never none of some: languages that are missing mean the usual one")
    func languages() {
        let group = [audio("en", "en-GB"), audio("de", "de", isDefault: true), audio("fr", "FR"), audio("x", nil)]
        #expect(RenditionSelection.Audio.default.chosen(from: group).map(\.id) == ["de"])
        #expect(RenditionSelection.Audio.default.chosen(from: [group[0], group[2]]).map(\.id) == ["en"])
        #expect(RenditionSelection.Audio.languages(["EN", "fr"]).chosen(from: group).map(\.id) == ["en", "fr"])
        #expect(RenditionSelection.Audio.languages(["en-US"]).chosen(from: group).map(\.id) == ["de"])
        #expect(RenditionSelection.Audio.languages(["e"]).chosen(from: group).map(\.id) == ["de"])
        #expect(RenditionSelection.Audio.languages(["*"]).chosen(from: group).count == 3)
        #expect(RenditionSelection.Audio.all.chosen(from: group) == group)
        #expect(RenditionSelection.Audio.default.chosen(from: []).isEmpty)
    }

    @Test(
        "A language is found by its code of two or three letters, in any case, with or without a region",
        arguments: [
            ("en", "eng", true), ("eng", "en", true), ("DE", "ger", true), ("ger", "deu", true), ("deu", "de-AT", true),
            ("fr", "fre-CA", true), ("fr-CA", "fra-CA", true), ("fr-CA", "fr", false), ("haw", "haw", true),
            ("en", "enm", false), ("en", "", false), ("zh", "chi-Hant", true), ("*", "qaa", true), ("e", "en", false),
        ])
    func codes(wanted: String, language: String, isFound: Bool) {
        #expect(LanguageRanges([wanted]).contains(language) == isFound)
    }

    @Test("Subtitles that play by themselves are kept, and the forced ones of the spoken languages")
    func subtitles() {
        let group = [
            audio("en", "en"), audio("de", "de", isDefault: true), audio("forced", "en", isForced: true),
            audio("other", "fr", isForced: true),
        ]
        #expect(
            RenditionSelection.Subtitles.default.chosen(from: group, spoken: LanguageRanges(["en"])).map(\.id) == [
                "de", "forced",
            ])
        #expect(RenditionSelection.Subtitles.none.chosen(from: group, spoken: LanguageRanges(["en"])).isEmpty)
        #expect(RenditionSelection.Subtitles.all.chosen(from: group, spoken: LanguageRanges([])) == group)
        #expect(
            RenditionSelection.Subtitles.languages(["en"]).chosen(from: group, spoken: LanguageRanges([])).map(\.id)
                == ["en", "forced"])
        #expect(
            RenditionSelection.Subtitles.languages(["it"]).chosen(from: group, spoken: LanguageRanges(["it"])).isEmpty)
    }
}
