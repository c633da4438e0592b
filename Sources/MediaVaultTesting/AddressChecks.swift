import OriginServer
import VaultModel

/// The checks of where a transport sends, and of what it says of that.
enum AddressChecks {
    private static let resource = ScriptedResource(length: 1000)

    static func reach(_ trial: Trial) async throws {
        let origin = await trial.origin()
        let inside = try ScriptedOrigin(resource)
        // Kept connections must not make a difference.
        _ = await trial.receive(OriginRequest(url: inside.url("/named")), from: origin)
        for host in ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:7f00:1]"] {
            let url = try MediaURL("http://\(host):\(inside.port)/outside")
            let reception = await trial.receive(OriginRequest(url: url, reach: .publicOnly), from: origin)
            trial.expect(reception, failsBy: [.invalidResponse, .unreachable], "\(host), which is not public,")
        }
        for host in ["127.0.0.1", "localhost"] {
            let there = "http://\(host):\(inside.port)/redirected"
            let home = try ScriptedOrigin { _ in .redirect(to: there) }
            let reception = await trial.receive(OriginRequest(url: home.url()), from: origin)
            trial.expect(reception, failsBy: [.invalidResponse], "a redirect to \(host) at another port")
        }
        trial.expect(inside.exchanges.map(\.request.target), is: ["/named"], "the requests that came")
    }

    static func privateHosts(_ trial: Trial) async throws {
        let server = try ScriptedOrigin(resource)
        let port = server.port
        server.answer { request in
            request.target == "/film.mp4" ? .redirect(to: "http://localhost:\(port)/x") : resource.answer(to: request)
        }
        let origin = await trial.origin(allowing: Trial.thisMachine)
        let cases: [(target: String, hosts: Set<String>)] = [
            ("/x", ["127.0.0.1"]), ("/film.mp4", ["127.0.0.1", "localhost"]),
        ]
        for (target, hosts) in cases {
            guard let head = await trial.receive(OriginRequest(url: server.url(target)), from: origin).head else {
                trial.giveUp("it follows no redirect from 127.0.0.1 to localhost")
                continue
            }
            guard let named = head.privateHosts else { continue }
            trial.expect(
                named.isSuperset(of: hosts), "privateHosts to have \(hosts.sorted())",
                happened: "it was \(named.sorted())")
        }
    }

    static func connections(_ trial: Trial) async throws {
        let server = try ScriptedOrigin { request in
            var answer = resource.answer(to: request)
            answer.closes = request.number % 2 == 1
            if answer.closes { answer.set("Connection", "close") }
            return answer
        }
        let origin = await trial.origin()
        var connections: [UInt64: Set<Int>] = [:]
        for number in 0..<6 {
            let head = await trial.receive(OriginRequest(url: server.url("/number\(number)")), from: origin).head
            let exchange = server.exchanges.last { $0.request.target == "/number\(number)" }
            guard let named = head?.connection, let exchange else { continue }
            connections[named, default: []].insert(exchange.connection)
        }
        trial.expect(6, requestsAt: server)
        let mixed = connections.values.filter { $0.count > 1 }.map { $0.sorted() }
        trial.expect(mixed, is: [], "connections that share a number")
    }
}
