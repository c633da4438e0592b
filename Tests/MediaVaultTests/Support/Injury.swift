import Foundation
import GRDB
import MediaVault
import Testing

/// One way to damage a title of two segments of 200 000 bytes, and the findings that verification must report.
struct Injury: CustomTestStringConvertible, Sendable {
    let name: String
    let damage: [DamageClass: Int]
    /// The ranges that are fetched again, as requested from the origin.
    let fetched: [String]
    let inflict: @Sendable (VaultFixture) throws -> Void

    var testDescription: String { name }

    private static let sealedBlock = 32_768 + 16
    private static let all = "bytes=0-199999"

    private init(
        _ name: String, _ damage: [DamageClass: Int], fetched: [String],
        _ inflict: @escaping @Sendable (VaultFixture) throws -> Void
    ) {
        (self.name, self.damage, self.fetched, self.inflict) = (name, damage, fetched, inflict)
    }

    /// Damage to the file of the first segment.
    private static func file(
        _ name: String, _ damage: [DamageClass: Int], fetched: String...,
        change: @escaping @Sendable (inout [UInt8]) -> Void
    ) -> Injury {
        Injury(name, damage, fetched: fetched) { try $0.change($0.files()[0], change) }
    }

    /// Damage to the row of the first segment.
    private static func row(
        _ name: String, _ damage: [DamageClass: Int], fetched: String..., sql: String
    ) -> Injury {
        Injury(name, damage, fetched: fetched) { fixture in try fixture.index { try $0.execute(sql: sql) } }
    }

    private static func flip(_ name: String, _ offset: Int, _ kind: DamageClass, fetched: String) -> Injury {
        file(name, [kind: 1], fetched: fetched) { $0[offset] ^= 0x40 }
    }

    static let files = [
        flip("magic", 0, .header, fetched: all), flip("block size", 9, .header, fetched: all),
        flip("flags", 12, .header, fetched: all), flip("representation", 20, .header, fetched: all),
        flip("segment id", 40, .header, fetched: all), flip("start", 50, .header, fetched: all),
        flip("commitment, first byte", 56, .key, fetched: all), flip("commitment, last byte", 87, .key, fetched: all),
        flip("block 0, first byte", 88, .block, fetched: "bytes=0-32767"),
        flip("block 2", 88 + 2 * sealedBlock + 77, .block, fetched: "bytes=65536-98303"),
        flip("tag of block 2", 88 + 3 * sealedBlock - 1, .block, fetched: "bytes=65536-98303"),
        flip("short last block", 88 + 6 * sealedBlock + 3, .block, fetched: "bytes=196608-199999"),
        file("two blocks apart", [.block: 2], fetched: "bytes=0-32767", "bytes=65536-98303") {
            $0[88] ^= 1
            $0[88 + 2 * sealedBlock] ^= 1
        },
        file("two neighbours are one range", [.block: 2], fetched: "bytes=0-65535") {
            $0[88] ^= 1
            $0[88 + sealedBlock] ^= 1
        },
        file("empty", [.header: 1], fetched: all) { $0 = [] },
        file("cut within the header", [.header: 1], fetched: all) { $0 = Array($0.prefix(87)) },
        file("cut behind the header", [.size: 1, .block: 7], fetched: all) { $0 = Array($0.prefix(88)) },
        file("cut at a block's edge", [.size: 1, .block: 4], fetched: "bytes=98304-199999") {
            $0 = Array($0.prefix(88 + 3 * sealedBlock))
        },
        file("cut within a block", [.size: 1, .block: 4], fetched: "bytes=98304-199999") {
            $0 = Array($0.prefix(88 + 3 * sealedBlock + 5000))
        },
        file("cut within a tag", [.size: 1, .block: 1], fetched: "bytes=196608-199999") { $0.removeLast() },
        file("a byte appended", [.size: 1]) { $0.append(7) },
        file("a block appended", [.size: 1]) { $0 += Array(repeating: 7, count: sealedBlock) },
        file("a block of zeros", [.block: 1], fetched: "bytes=32768-65535") {
            $0.replaceSubrange((88 + sealedBlock)..<(88 + 2 * sealedBlock), with: repeatElement(0, count: sealedBlock))
        },
        file("zeros from beginning to end", [.header: 1], fetched: all) { $0 = Array(repeating: 0, count: $0.count) },
        file("two blocks exchanged", [.block: 2], fetched: "bytes=0-65535") {
            let first = Array($0[88..<(88 + sealedBlock)])
            let second = Array($0[(88 + sealedBlock)..<(88 + 2 * sealedBlock)])
            $0.replaceSubrange(88..<(88 + 2 * sealedBlock), with: second + first)
        },
        Injury("two files exchanged", [.header: 2], fetched: ["bytes=0-"]) { fixture in
            let files = try fixture.files()
            let first = try Data(contentsOf: URL(filePath: files[0]))
            try Data(contentsOf: URL(filePath: files[1])).write(to: URL(filePath: files[0]))
            try first.write(to: URL(filePath: files[1]))
        },
        Injury("deleted", [.missing: 1], fetched: [all]) { try FileManager.default.removeItem(atPath: $0.files()[0]) },
        Injury("both deleted", [.missing: 2], fetched: ["bytes=0-"]) { fixture in
            for file in try fixture.files() { try FileManager.default.removeItem(atPath: file) }
        },
    ]

    /// Damage to rows only: the files are intact, and nothing needs to be fetched.
    static let rows = [
        row("start", [.header: 1], sql: "UPDATE segment SET start = 1000 WHERE start = 0"),
        row("block size", [.header: 1], sql: "UPDATE segment SET blockSize = 65536 WHERE start = 0"),
        row("impossible block size", [.row: 1], sql: "UPDATE segment SET blockSize = 1000 WHERE start = 0"),
        row("negative start", [.row: 1], sql: "UPDATE segment SET start = -5 WHERE start = 0"),
        row("text in the place of a number", [.row: 1], sql: "UPDATE segment SET length = 'long' WHERE start = 0"),
        row("no length", [.row: 1], sql: "UPDATE segment SET length = 0 WHERE start = 0"),
        row("key", [.key: 1], sql: "UPDATE segment SET key = 7 WHERE start = 0"),
        row("length lowered to a block's edge", [.size: 1], sql: "UPDATE segment SET length = 65536 WHERE start = 0"),
        row("length lowered", [.size: 1, .block: 1], sql: "UPDATE segment SET length = 199000 WHERE start = 0"),
        row(
            "representation that is not there", [.row: 1],
            sql: "UPDATE segment SET representation = randomblob(16) WHERE start = 0"),
        row(
            "the same bytes twice", [.row: 1],
            sql:
                "INSERT INTO segment SELECT randomblob(16), representation, key, blockSize, start + 5, 1000, state, 0 FROM segment WHERE start = 0"
        ),
    ]
}
