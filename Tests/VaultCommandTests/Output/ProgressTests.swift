import Testing

@testable import VaultCommand

@Suite struct ProgressTests {
    @Test(
        "Byte counts are printed as people write them",
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1999, "1.9 kB"), (999_999, "999.9 kB"),
            (1_000_000, "1.0 MB"),
            (12_345_678, "12.3 MB"), (1_500_000_000, "1.5 GB"), (2_000_000_000_000, "2.0 TB"), (.max, "9.2 EB"),
        ] as [(Int64, String)])
    func byteCount(_ count: Int64, _ text: String) {
        #expect(ByteCount.text(count) == text)
    }

    @Test(
        "A hundred percent is printed only if nothing is missing",
        arguments: [
            (0, 1000, 0), (5, 1000, 0), (10, 1000, 1), (999, 1000, 99), (1000, 1000, 100), (2000, 1000, 100),
            (0, 0, 100),
            (999_999_999_999_999_999, 1_000_000_000_000_000_000, 99), (7, nil, nil),
        ] as [(Int64, Int64?, Int?)])
    func percent(_ held: Int64, _ total: Int64?, _ percent: Int?) {
        #expect(TransferProgress(held: held, total: total).percent == percent)
    }

    @Test("The speed is printed once there is enough to measure it") func rate() {
        #expect(TransferProgress.rate(of: 1000, in: .milliseconds(100)) == 0)
        #expect(TransferProgress.rate(of: 0, in: .seconds(1)) == 0)
        #expect(TransferProgress.rate(of: 5_000_000, in: .milliseconds(500)) == 10_000_000)
    }

    private static let half = TransferProgress(held: 20_000_000, total: 40_000_000, bytesPerSecond: 5_000_000)

    @Test(
        "The line shows as much as its width allows",
        arguments: [
            (120, "film.mp4  [===================                   ]   50 %  20.0 MB of 40.0 MB  5.0 MB/s  0:04 left"),
            (71, "film.mp4  [=====     ]   50 %  20.0 MB of 40.0 MB  5.0 MB/s  0:04 left"),
            (60, "film.mp4   50 %  20.0 MB of 40.0 MB  5.0 MB/s  0:04 left"),
            (50, "film.mp4   50 %  20.0 MB of 40.0 MB  5.0 MB/s"),
            (40, "film.mp4   50 %  20.0 MB of 40.0 MB"),
            (20, "film.mp4   50 %"),
            (12, "…mp4   50 %"),
            (6, " 50 %"), (3, " 5"), (1, ""), (0, ""),
        ])
    func bar(_ width: Int, _ line: String) {
        #expect(ProgressLine.bar("film.mp4", Self.half, width: width) == line)
    }

    @Test("The line is always shorter than its width", arguments: 0...200)
    func barFits(_ width: Int) {
        for name in ["", "a", "film.mp4", String(repeating: "long", count: 100)] {
            for total in [nil, 0, 1, 40_000_000, Int64.max] as [Int64?] {
                for held in [0, 1, 20_000_000, Int64.max] {
                    let progress = TransferProgress(held: held, total: total, bytesPerSecond: 123_456)
                    #expect(ProgressLine.bar(name, progress, width: width).count < max(1, width))
                }
            }
        }
    }

    @Test("If lines are kept, each progress report is a sentence") func sentence() {
        #expect(ProgressLine.sentence("film.mp4", Self.half) == "film.mp4: 50 %, 20.0 MB of 40.0 MB")
        #expect(ProgressLine.sentence("live", TransferProgress(held: 1500, total: nil)) == "live: 1.5 kB")
    }

    @Test("Kept lines are printed at the start, at every tenth, and every five seconds") func lines() {
        var pace = ProgressPace(.lines)
        let steps: [(percent: Int64, seconds: Double, isDue: Bool)] = [
            (3, 0, true), (4, 1, false), (9, 2, false), (10, 2.1, true), (19, 2.2, false), (35, 2.3, true),
            (36, 7.2, false),
            (36, 7.3, true), (36, 12.2, false), (36, 12.3, true), (100, 12.4, true), (100, 12.5, false),
        ]
        for step in steps {
            let progress = TransferProgress(held: step.percent, total: 100)
            #expect(pace.isDue(progress, at: .seconds(step.seconds)) == step.isDue, "at \(step.seconds)")
        }
    }

    @Test("A line is redrawn at most ten times a second") func redrawn() {
        var pace = ProgressPace(.redrawn)
        let due = (0...1000).filter {
            pace.isDue(TransferProgress(held: Int64($0), total: 1000), at: .milliseconds($0))
        }
        #expect(due == Array(stride(from: 0, through: 1000, by: 100)))
    }
}
