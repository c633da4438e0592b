import Testing
import VaultModel

@Suite("Settings of the download queue")
struct DownloadSettingsTests {
    @Test(
        "Hours contain the times between their ends, also over midnight, and know when they change next",
        arguments: [
            ("01:00-06:00", 0, false, 3600), ("01:00-06:00", 3600, true, 18_000), ("01:00-06:00", 21_599, true, 1),
            ("01:00-06:00", 21_600, false, 68_400), ("22:30-06:00", 81_000, true, 27_000),
            ("22:30-06:00", 0, true, 21_600), ("22:30-06:00", 21_600, false, 59_400),
            ("22:30-06:00", 80_999, false, 1), ("00:00-24:00", 40_000, true, 46_400),
            ("07:00-07:00", 25_199, true, 1), ("20:00-24:00", 86_399, true, 1),
        ])
    func hours(text: String, second: Int, isWithin: Bool, change: Int) throws {
        let hours = try DownloadHours(text)
        #expect(hours.contains(secondOfDay: second) == isWithin)
        #expect(hours.secondsUntilChange(secondOfDay: second) == change)
    }

    @Test("Hours are written as they are read again")
    func text() throws {
        for text in ["01:00-06:00", "22:30-06:05", "00:00-00:00"] {
            #expect(try DownloadHours(text).description == text)
        }
        #expect(try DownloadHours("20:00-24:00").description == "20:00-00:00")
    }

    @Test(
        "What is not two times of the day is refused",
        arguments: [
            "", "1:00-6:00", "01:00", "01:00-06:00-07:00", "01:60-06:00", "24:01-06:00", "25:00-06:00", "01.00-06.00",
            "-01:00-06:00", "01:00-06:0x", "01:00 - 06:00", "٠١:٠٠-٠٦:٠٠",
        ])
    func invalid(text: String) {
        #expect(throws: VaultError.self) { try DownloadHours(text) }
    }

    @Test("Numbers out of bounds are refused, and a rate of 0 is none")
    func bounds() throws {
        var settings = DownloadSettings()
        #expect(settings.parallel == 3 && settings.perHost == 2 && settings.bytesPerSecond == nil)
        for number in [0, -1, 17, .max] {
            #expect(throws: VaultError.self) { try settings.setParallel(number) }
            #expect(throws: VaultError.self) { try settings.setPerHost(number) }
        }
        #expect(throws: VaultError.self) { try settings.setRate(-1) }
        try settings.setParallel(16)
        try settings.setPerHost(1)
        try settings.setRate(5)
        #expect(settings.parallel == 16 && settings.perHost == 1 && settings.bytesPerSecond == 5)
        try settings.setRate(0)
        #expect(settings.bytesPerSecond == nil)
        #expect(settings.leastRate == 4000)
        #expect(throws: VaultError.self) { try settings.setLeastRate(-1) }
        try settings.setLeastRate(0)
        #expect(settings.leastRate == 0)
        for odd in [["de/"], [""], ["*"], Array(repeating: "de", count: 65)] {
            #expect(throws: VaultError.self) { try settings.setLanguages(odd) }
        }
        try settings.setLanguages(["de", "en-GB"])
        #expect(settings.languages == ["de", "en-GB"])
    }
}
