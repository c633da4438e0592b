import MediaVault
import Testing

@testable import VaultService

/// An example of a type that crosses the wire, in the JSON that the service and the command write.
struct WireForm: Sendable, CustomTestStringConvertible {
    /// The name of the schema in the API's description.
    let schema: String
    /// An example with every member.
    let full: String
    /// An example with required members only.
    let minimal: String
    /// Decodes text, and encodes what was decoded.
    let roundTrip: @Sendable (String) throws -> String
    /// Decodes text as the body of a request, and encodes what was decoded.
    let strictRoundTrip: @Sendable (String) throws -> String

    private init<Value: Codable & Sendable>(
        _ type: Value.Type, _ schema: String, _ full: String, minimal: String? = nil
    ) {
        self.schema = schema
        self.full = full
        self.minimal = minimal ?? full
        roundTrip = { try JSONText.of(JSONText.read(type, from: Array($0.utf8))) }
        strictRoundTrip = { try JSONText.of(StrictDecoder.decode(type, from: Array($0.utf8))) }
    }

    var testDescription: String { schema }

    /// Every type of an answer and of a request.
    static let all = answers + requests + parts

    private static let id = String(repeating: "0a", count: 32)
    private static let vault = String(repeating: "0b", count: 16)

    private static let problem =
        #"{"code":"refused","detail":"no","firstMissing":1,"held":[[0,1]],"hint":"rebuildIndex","length":9,"#
        + #""originStatus":429,"retryAfter":7,"status":503,"title":"Service Unavailable"}"#

    private static let counts = #"{"damaged":1,"failed":2,"paused":3,"running":4,"waiting":5}"#

    private static let loggedLine =
        #"{"level":"notice","message":"a","reason":"diskFull","time":"2026-11-23T22:15:39Z"}"#

    private static let subscription =
        #"{"added":"2026-11-23T22:15:39Z","contentIDs":true,"every":21600,"gone":true,"id":"0a1b2c3d","keep":true,"#
        + #""lastRun":"2026-11-23T22:16:39Z","list":"b","movedTo":"https://b.example/feed","name":"a","newest":3,"nextRun":"2026-11-24T04:16:39Z","#
        + #""problem":"no","problemCode":"refused","titles":4,"url":"https://a.example/feed"}"#

    private static let source =
        #"{"anyType":true,"audio":"en","contentIDs":true,"every":21600,"keep":true,"list":"b","name":"a","newest":3,"#
        + #""subtitles":"de","untried":true,"url":"https://a.example/feed?token=1","video":"480"}"#

    private static let rendition =
        #"{"bandwidth":1,"codecs":"avc1","groups":["a"],"height":2,"id":"b","isDefault":true,"isForced":false,"#
        + #""kind":"video","language":"en","name":"c","width":3}"#

    private static let title =
        #"{"bytes":1,"complete":true,"duration":2,"fetched":\#(time),"kind":"hls","missing":["c"],"#
        + #""otherAudio":["fr"],"otherSubtitles":["it"],"renditions":[\#(rendition)],"#
        + #""resources":4,"selection":{"audio":"en,de","subtitles":"none","video":"480"},"size":5}"#

    private static let times = #""accessed":"2026-11-23T22:00:00Z","added":"2026-11-23T22:15:39Z""#

    private static let resource =
        #"{\#(times),"bytes":5,"class":"cache","collection":"g","collectionName":"h","contentID":"e","cover":"\#(tag)","#
        + #""duration":8,"etag":"\"a\"","expires":\#(time),"fallbackName":"f","generation":1,"#
        + #""held":[[0,5],[7,9]],"id":"k3v7q2ma","mode":"prefer-vault","#
        + #""name":"d","part":false,"partBytes":6,"size":9,"subtitles":["de"],"tags":\#(tags),"title":\#(title),"type":"video/mp4","#
        + #""url":"https://a.example/b?c"}"#

    private static let tags =
        #"{"album":"a","artist":"b","disc":1,"episode":2,"language":"de","season":3,"series":"c","track":4}"#

    private static let tag = String(repeating: "0c", count: 8)
    private static let viewer =
        #"{"collections":2,"created":\#(time),"failures":[\#(failures)],"hasPIN":true,"id":"\#(vault)","languages":["de"],"name":"a","#
        + #""sharesAll":false,"titles":3}"#
    private static let failures =
        #"{"address":null,"count":2,"knownDevice":false,"last":\#(time),"until":null}"#

    private static let viewed =
        #"{"added":\#(time),"bytes":5,"complete":true,"cover":"0c","duration":8,"fallbackName":"f","held":[[0,5]],"#
        + #""id":"k3v7q2ma","kind":"hls","name":"d","size":9,"subtitles":["de"],"tags":\#(tags),"type":"video/mp4"}"#

    private static let share = #"{"id":"k3v7q2ma","viewers":["\#(vault)"]}"#
    private static let position = #"{"changed":\#(time),"duration":9.5,"id":"k3v7q2ma","seconds":1.25}"#

    private static let time = #""2026-11-23T22:15:39Z""#
    private static let finding = #"{"cause":"incomplete","message":"fetch it"}"#
    private static let token = "mvt_" + String(repeating: "a", count: 64)
    private static let ticket = String(repeating: "a", count: 43)
    private static let proof = "mvp_" + String(repeating: "a", count: 64)
    private static let session =
        #"{"browser":"Firefox on Linux","created":\#(time),"expires":\#(time),"id":"0a1b2c3d","lastUsed":\#(time),"#
        + #""scope":"play","viewer":"a"}"#
    private static let unusedSession =
        #"{"browser":null,"created":\#(time),"expires":null,"id":"0a1b2c3d","lastUsed":null,"scope":"admin","viewer":null}"#

    private static let answers: [WireForm] = [
        WireForm(ViewersDocument.self, "Viewers", #"{"damaged":1,"viewers":[\#(viewer)]}"#),
        WireForm(ViewedPageDocument.self, "ViewedPage", #"{"next":"a","resources":[\#(viewed)]}"#),
        WireForm(SharesDocument.self, "Shares", #"{"shares":[\#(share)]}"#),
        WireForm(SharedDocument.self, "Shared", #"{"changed":1}"#),
        WireForm(PositionsDocument.self, "Positions", #"{"positions":[\#(position)]}"#),
        WireForm(
            StatusDocument.self, "Status",
            #"{"bytes":1,"bytesFetched":2,"downloads":\#(counts),"evicted":3,"feeds":{"failing":1,"followed":2},"generation":4,"keysLocked":true,"passedThrough":5,"#
                + #""resources":6,"segments":7,"storeFailure":"full","swapInReach":false,"#
                + #""unlock":{"method":"key-file","restsWithVault":true},"used":8,"vault":"\#(vault)"}"#,
            minimal:
                #"{"bytes":1,"bytesFetched":2,"downloads":\#(counts),"evicted":3,"feeds":{"failing":1,"followed":2},"generation":4,"keysLocked":true,"passedThrough":5,"#
                + #""resources":6,"segments":7,"storeFailure":null,"swapInReach":false,"#
                + #""unlock":{"method":"key-file","restsWithVault":true},"used":8,"vault":"\#(vault)"}"#),
        WireForm(
            ListedDocument.self, "Listed",
            #"{\#(times),"bytes":5,"class":"pinned","collection":"g","complete":true,"contentID":"e","cover":"\#(tag)","#
                + #""duration":8,"expires":\#(time),"fallbackName":"f","id":"k3v7q2ma","name":"d","size":5,"#
                + #""tags":\#(tags),"title":\#(title),"type":"video/mp4","#
                + #""url":"https://a.example/"}"#,
            minimal:
                #"{\#(times),"bytes":5,"class":"pinned","collection":null,"complete":true,"contentID":null,"cover":null,"#
                + #""duration":null,"expires":null,"fallbackName":null,"id":null,"name":null,"size":null,"tags":null,"#
                + #""title":null,"type":null,"url":"https://a.example/"}"#),
        WireForm(
            ChaptersDocument.self, "Chapters", #"{"chapters":[{"name":"a","start":5}]}"#,
            minimal: #"{"chapters":[{"start":5}]}"#),
        WireForm(LanguagesDocument.self, "Languages", #"{"languages":["de","en-GB"]}"#, minimal: #"{"languages":[]}"#),
        WireForm(
            CollectionsDocument.self, "Collections",
            #"{"collections":[{"id":"0a1b2c3d0a1b2c3d","kind":"album","mode":"offline","name":"a","pinned":true,"titles":["k3v7q2ma"],"#
                + #""viewers":["\#(vault)"]}]}"#,
            minimal:
                #"{"collections":[{"id":"0a1b2c3d0a1b2c3d","kind":"album","mode":null,"name":null,"pinned":false,"titles":[],"#
                + #""viewers":[]}]}"#),
        WireForm(
            PageDocument.self, "Page", #"{"damaged":1,"next":"\#(id)","resources":[]}"#,
            minimal: #"{"damaged":1,"next":null,"resources":[]}"#),
        WireForm(
            ResourceSummary.self, "Resource", resource,
            minimal: #"{\#(times),"bytes":0,"class":"cache","collection":null,"collectionName":null,"contentID":null,"#
                + #""cover":null,"duration":null,"etag":null,"expires":null,"fallbackName":null,"generation":1,"#
                + #""held":[],"id":null,"mode":null,"name":null,"part":true,"partBytes":null,"size":null,"subtitles":[],"tags":null,"#
                + #""title":null,"type":null,"#
                + #""url":"https://a.example/b?c"}"#),
        WireForm(
            Title.self, "Title", title,
            minimal: #"{"bytes":1,"complete":true,"duration":null,"fetched":\#(time),"kind":"dash","#
                + #""missing":[],"otherAudio":[],"otherSubtitles":[],"renditions":[],"resources":4,"selection":{"audio":"all","subtitles":"default","video":"best"},"#
                + #""size":null}"#),
        WireForm(
            Rendition.self, "Rendition", rendition,
            minimal: #"{"groups":[],"id":"b","isDefault":false,"isForced":false,"kind":"audio"}"#),
        WireForm(
            RenditionSelection.self, "Selection", #"{"audio":"default","subtitles":"all","video":"worst"}"#),
        WireForm(ResourceCount.self, "ResourceCount", #"{"held":1,"total":2}"#),
        WireForm(
            ExplanationDocument.self, "Explanation",
            #"{"answers":[{"bytes":9,"ended":\#(time),"omitted":2,"runs":[{"end":7,"first":0,"source":"vault"}]}],"#
                + #""held":[[0,7]],"size":9,"url":"https://a.example/"}"#,
            minimal: #"{"answers":[{"bytes":9,"omitted":2,"runs":[]}],"held":[],"size":null,"#
                + #""url":"https://a.example/"}"#),
        WireForm(
            DownloadDocument.self, "Download",
            #"{"added":"2026-11-23T22:15:39Z","attempts":1,"contentID":"e","held":1,"id":"k3v7q2ma","name":"d","#
                + #""nextAttempt":"2026-11-23T22:16:00Z","problem":\#(problem),"queued":true,"size":3,"state":"waiting","#
                + #""url":"https://a.example/"}"#,
            minimal: #"{"added":null,"attempts":0,"contentID":null,"held":1,"id":"k3v7q2ma","name":null,"#
                + #""nextAttempt":null,"problem":null,"queued":false,"size":null,"state":"running","#
                + #""url":"https://a.example/"}"#),
        WireForm(
            DownloadsDocument.self, "Downloads",
            #"{"counts":\#(counts),"downloads":[],"next":"1.0123456789abcdef0123456789abcdef"}"#,
            minimal: #"{"counts":\#(counts),"downloads":[],"next":null}"#),
        WireForm(DownloadCounts.self, "DownloadCounts", counts),
        WireForm(QueuedDocument.self, "Queued", #"{"downloads":[]}"#),
        WireForm(DownloadChangeDocument.self, "DownloadsChanged", #"{"changed":1}"#),
        WireForm(
            SubscriptionDocument.self, "Subscription", subscription,
            minimal: #"{"added":\#(time),"contentIDs":false,"every":null,"gone":false,"id":"0a1b2c3d","keep":false,"#
                + #""lastRun":null,"list":null,"movedTo":null,"name":"a","newest":null,"#
                + #""nextRun":null,"problem":null,"titles":0,"url":null}"#),
        WireForm(
            SubscriptionsDocument.self, "Subscriptions", #"{"damaged":1,"subscriptions":[\#(subscription)]}"#),
        WireForm(
            SyncDocument.self, "Sync",
            #"{"fetched":[{"id":"k3v7q2ma","name":"b","problem":null}],"moved":true,"pinned":1,"problem":"page","#
                + #""removed":[{"id":"k3v7q2mb","name":"c","problem":"no"}],"repairs":["3 bare &"],"#
                + #""subscription":\#(subscription),"#
                + #""unchanged":2,"unusable":3,"waiting":4}"#),
        WireForm(SyncDocument.Item.self, "SyncItem", #"{"id":"k3v7q2ma","name":"b","problem":null}"#),
        WireForm(UnsubscribedDocument.self, "Unsubscribed", #"{"removed":1}"#),
        WireForm(RemovalDocument.self, "Removal", #"{"bytes":1,"erased":true}"#),
        WireForm(PruneReport.self, "Prune", #"{"bytes":1,"resources":2,"segments":3,"used":4}"#),
        WireForm(
            ReadinessReport.self, "Readiness",
            #"{"bytes":1,"checked":\#(time),"findings":[\#(finding)],"ready":false,"titles":2,"unready":[],"#
                + #""unreadyTitles":3,"until":\#(time)}"#,
            minimal: #"{"bytes":1,"checked":\#(time),"findings":[],"ready":true,"titles":2,"unready":[],"#
                + #""unreadyTitles":0,"until":null}"#),
        WireForm(
            ImportReport.self, "Import",
            #"{"bytes":1,"id":"k3v7q2ma","origin":"same","type":"video/mp4","url":"https://a.example/"}"#,
            minimal: #"{"bytes":1,"id":"k3v7q2ma","origin":"unasked","type":null,"url":"https://a.example/"}"#),
        WireForm(
            ImportOrder.self, "ImportOrder",
            #"{"contentID":"e","fields":[["a","b"]],"fileType":"video/mp4","id":"k3v7q2ma","length":1,"name":"d","#
                + #""offline":true,"pinned":true,"type":"video/mp4","url":"https://a.example/"}"#,
            minimal: #"{"length":1}"#),
        WireForm(ReadinessFinding.self, "ReadinessFinding", finding),
        WireForm(
            UnreadyTitle.self, "UnreadyTitle",
            #"{"findings":[\#(finding)],"id":"k3v7q2ma","name":"d","url":"https://a.example/"}"#,
            minimal: #"{"findings":[\#(finding)],"id":null,"name":null,"url":null}"#),
        WireForm(
            KeysDocument.self, "Keys",
            #"{"act":"keys rotate --root","current":2,"folded":[{"first":3,"last":4}],"generations":[{"backups":1,"#
                + #""bytes":2,"created":\#(time),"leaving":4,"number":5,"records":8,"resources":6,"#
                + #""state":"retiring","titles":7}],"#
                + #""locatorChanging":true,"reseal":{"bytes":1,"due":true,"resources":2},"shreds":7}"#,
            minimal: #"{"act":null,"current":2,"folded":[],"generations":[],"locatorChanging":false,"reseal":null,"#
                + #""shreds":0}"#),
        WireForm(
            LinkDocument.self, "Link",
            #"{"expires":\#(time),"id":"0a1b2c3d","name":"a","path":"/media/a?t=b","paths":["/media/a?t=b"]}"#,
            minimal: #"{"expires":null,"id":null,"name":null,"path":"/media/a","paths":["/media/a"]}"#),
        WireForm(
            NamedLinksDocument.self, "Links",
            #"{"damaged":1,"links":[{"count":2,"created":\#(time),"expires":\#(time),"id":"0a1b2c3d","#
                + #""lastUsed":"2026-11-24","name":"a","titles":["k3v7q2ma"],"url":"https://a.example/"}]}"#,
            minimal: #"{"damaged":0,"links":[{"count":2,"created":\#(time),"expires":null,"id":"0a1b2c3d","#
                + #""lastUsed":null,"name":"a","titles":[],"url":"https://a.example/"}]}"#),
        WireForm(
            TokensDocument.self, "Tokens",
            #"{"damaged":1,"tokens":[{"created":\#(time),"expires":\#(time),"id":"0a1b2c3d","lastUsed":"2026-11-24","#
                + #""name":"a","scope":"read"}]}"#,
            minimal: #"{"damaged":0,"tokens":[{"created":\#(time),"expires":null,"id":"0a1b2c3d","lastUsed":null,"#
                + #""name":null,"scope":"admin"}]}"#),
        WireForm(
            CreatedTokenDocument.self, "CreatedToken",
            #"{"expires":\#(time),"id":"0a1b2c3d","name":"a","scope":"play","token":"\#(token)"}"#,
            minimal: #"{"expires":null,"id":"0a1b2c3d","name":null,"scope":"metrics","token":"\#(token)"}"#),
        WireForm(RevocationDocument.self, "Revocation", #"{"revoked":1}"#),
        WireForm(TicketDocument.self, "Ticket", #"{"lifetime":60,"ticket":"\#(ticket)"}"#),
        WireForm(
            EvictionsDocument.self, "Evictions",
            #"{"classes":{"cache":6,"download":7,"pinned":8},"free":1,"maxSize":2,"minFree":3,"next":[{"accessed":\#(time),"bytes":4,"class":"cache","expires":\#(time),"#
                + #""id":"k3v7q2ma","name":"d","url":"https://a.example/"}],"used":5}"#,
            minimal:
                #"{"classes":{"cache":0,"download":0,"pinned":0},"free":null,"maxSize":null,"minFree":0,"next":[],"used":0}"#
        ),
        WireForm(
            HistoryDocument.self, "History",
            #"{"every":15,"samples":[{"downloads":1,"fetched":2,"held":3,"playbacks":4,"served":5,"time":\#(time)}]}"#),
        WireForm(LogDocument.self, "Log", #"{"lines":[\#(loggedLine)],"version":"1"}"#),
        WireForm(
            PlaybacksDocument.self, "Playbacks",
            #"{"playbacks":[{"began":\#(time),"holder":"viewer","holderName":"a","id":"k3v7q2ma","last":\#(time),"#
                + #""name":"d","open":1,"url":"https://a.example/"}]}"#,
            minimal: #"{"playbacks":[{"began":\#(time),"holder":"unknown","holderName":null,"id":null,"#
                + #""last":\#(time),"name":null,"open":0,"url":"https://a.example/"}]}"#),
        WireForm(TicketOrder.self, "TicketOrder", #"{"use":"session","viewer":"\#(vault)"}"#, minimal: "{}"),
        WireForm(SignInOrder.self, "SignIn", #"{"name":"a","pin":"2468","ticket":"\#(ticket)"}"#, minimal: "{}"),
        WireForm(SessionDocument.self, "Session", session, minimal: unusedSession),
        WireForm(SessionsDocument.self, "Sessions", #"{"damaged":1,"sessions":[\#(session)]}"#),
        WireForm(BegunSessionDocument.self, "BegunSession", #"{"proof":"\#(proof)","session":\#(session)}"#),
        WireForm(
            SettingsDocument.self, "Settings",
            #"{"addressFamily":"ipv4","allowHost":["a"],"caFile":{"certificates":1},"clientCertificate":{"*":{"certificates":2}},"cookieFile":{"cookies":1},"downloadHours":"01:00-06:00","#
                + #""downloadRate":5,"downloadsPerHost":2,"evictDownloads":true,"headerFor":{"h":["X-A"]},"#
                + #""ignoreEtag":["b"],"ignoreQuery":{"*":["t"]},"immutable":["c"],"languages":["de"],"leastRate":7,"mapHost":{"d":"e"},"maxAge":1,"#
                + #""maxSize":2,"minFree":3,"mode":"offline","notifyCommand":["/n","x"],"parallelDownloads":3,"#
                + #""proxy":"http://a:…@b:1","proxyFor":{"c":"direct"},"proxyFromEnvironment":true,"#
                + #""refreshCommand":["/r"],"userAgent":"f"}"#,
            minimal: #"{"addressFamily":"any","allowHost":[],"caFile":null,"clientCertificate":{},"cookieFile":null,"#
                + #""downloadHours":null,"downloadRate":0,"downloadsPerHost":1,"evictDownloads":false,"headerFor":{},"ignoreEtag":[],"#
                + #""ignoreQuery":{},"immutable":[],"languages":[],"leastRate":0,"mapHost":{},"maxAge":0,"maxSize":0,"minFree":null,"mode":null,"#
                + #""notifyCommand":null,"parallelDownloads":1,"proxy":null,"proxyFor":{},"proxyFromEnvironment":false,"#
                + #""refreshCommand":null,"userAgent":null}"#),
        WireForm(
            ShredDocument.self, "Shred",
            #"{"generation":1,"outcome":"destroyed","resources":[{"bytes":1,"problem":\#(problem),"#
                + #""subject":"\#(id)","url":"https://a.example/"}]}"#,
            minimal: #"{"generation":1,"outcome":"removed","resources":[{"bytes":null,"problem":null,"subject":null,"#
                + #""url":"https://a.example/"}]}"#),
        WireForm(
            AuditReport.self, "Audit",
            #"{"anchored":true,"faults":[{"kind":"chain","line":1}],"key":"c","receipts":[{"act":"shred","#
                + #""generation":1,"outcome":"destroyed","resources":2,"sequence":3,"subject":"\#(id)","time":\#(time)}],"#
                + #""sound":false,"vault":"d"}"#,
            minimal: #"{"anchored":false,"faults":[],"key":null,"receipts":[{"act":"rotate","generation":1,"#
                + #""outcome":"done","sequence":3,"time":\#(time)}],"sound":true,"vault":null}"#),
        WireForm(DestructionReport.self, "Destruction", #"{"backups":1,"resources":2,"titles":1,"vault":"a"}"#),
        WireForm(
            KeyringSummary.self, "Keyring",
            #"{"revision":1,"slots":[{"label":"a","memLimit":2,"method":"passphrase","number":3,"opsLimit":4}],"#
                + #""vault":"\#(vault)"}"#,
            minimal: #"{"revision":1,"slots":[{"label":"a","memLimit":null,"method":"key-file","number":3,"#
                + #""opsLimit":null}],"vault":"\#(vault)"}"#),
        WireForm(EmptyDocument.self, "Nothing", "{}"),
        WireForm(ProblemDocument.self, "Problem", problem, minimal: #"{"status":404,"title":"Not Found"}"#),
    ]

    private static let reference = #""contentID":"a","fields":[["Cookie","b"]],"id":"k3v7q2ma""#
    private static let url = #""url":"https://a.example/""#

    static let requests: [WireForm] = [
        WireForm(ReferenceDocument.self, "Reference", "{\(reference),\(url)}", minimal: "{}"),
        WireForm(
            LinkOrder.self, "LinkOrder",
            #"{"contentID":"a","expires":\#(time),"fields":[["Cookie","b"]],"id":"k3v7q2ma","lifetime":60,"name":"b","#
                + #""resources":[{\#(url)}],\#(url)}"#,
            minimal: "{}"),
        WireForm(
            TokenOrder.self, "TokenOrder", #"{"expires":\#(time),"lifetime":60,"name":"a","scope":"read"}"#,
            minimal: #"{"scope":"metrics"}"#),
        WireForm(
            DownloadRequest.self, "DownloadOrder",
            #"{"audio":"en","connections":2,"contentID":"a","detached":true,"fields":[["Cookie","b"]],"first":true,"id":"k3v7q2ma","#
                + #""limitRate":5,"#
                + #""mediaOnly":true,"subtitles":"de","title":"a",\#(url),"video":"480"}"#,
            minimal: "{}"),
        WireForm(
            DownloadBatch.self, "DownloadBatch", #"{"downloads":[],"first":true}"#, minimal: #"{"downloads":[]}"#),
        WireForm(
            DownloadChange.self, "DownloadChange", #"{"act":"pause","all":true,"ids":["k3v7q2ma"]}"#,
            minimal: #"{"act":"cancel"}"#),
        WireForm(SubscriptionOrder.self, "SubscriptionOrder", source, minimal: "{}"),
        WireForm(
            SyncOrder.self, "SyncOrder",
            #"{"dryRun":true,"entries":[{"name":"a",\#(url)}],"id":"0a1b2c3d","source":\#(source),"unusable":1}"#,
            minimal: "{}"),
        WireForm(SyncEntryRequest.self, "SyncEntry", #"{\#(reference),"name":"b",\#(url)}"#, minimal: "{}"),
        WireForm(
            ModeRequest.self, "ModeOrder", #"{\#(reference),"mode":"default",\#(url)}"#,
            minimal: #"{"mode":"offline"}"#),
        WireForm(
            RemovalRequest.self, "RemovalOrder", #"{\#(reference),"links":true,\#(url)}"#, minimal: "{}"),
        WireForm(CoverDetails.self, "CoverDetails", #"{"image":"/9j/"}"#),
        WireForm(ModeDetails.self, "ModeDetails", #"{"mode":"default"}"#),
        WireForm(NameDetails.self, "NameDetails", #"{"name":"b"}"#),
        WireForm(
            ViewerOrder.self, "ViewerOrder", #"{"name":"a","pin":"2468","sharesAll":true}"#, minimal: #"{"name":"a"}"#),
        WireForm(SessionNaming.self, "SessionNaming", #"{"id":"0a1b2c3d","name":"a"}"#),
        WireForm(
            ViewerChange.self, "ViewerChange",
            #"{"hasPIN":false,"id":"\#(vault)","languages":["de"],"name":"a","pin":"2468","sharesAll":true,"unlock":true}"#,
            minimal: #"{"id":"\#(vault)"}"#),
        WireForm(
            ShareOrder.self, "ShareOrder",
            #"{"collection":"0a1b2c3d0a1b2c3d","resources":["k3v7q2ma"],"shared":true,"viewer":"\#(vault)"}"#,
            minimal: #"{"shared":true,"viewer":null}"#),
        WireForm(
            CollectionMove.self, "CollectionMove", #"{"name":"a","resources":["k3v7q2ma"]}"#,
            minimal: #"{"name":null,"resources":["k3v7q2ma"]}"#),
        WireForm(
            CollectionChange.self, "CollectionChange",
            #"{"id":"0a1b2c3d0a1b2c3d","mode":"offline","name":"a","pinned":true}"#,
            minimal: #"{"id":"0a1b2c3d0a1b2c3d"}"#),
        WireForm(
            PositionOrder.self, "PositionOrder", #"{"duration":9.5,"seconds":1.25}"#, minimal: #"{"seconds":1.25}"#),
        WireForm(
            VerificationRequest.self, "VerificationOrder",
            #"{"forgetRetired":true,"limitRate":1,"repair":true,"resources":[{\#(url)}],"sample":2}"#, minimal: "{}"),
        WireForm(
            ResealRequest.self, "ResealingOrder", #"{"limitRate":1,"resources":[{\#(url)}]}"#, minimal: "{}"),
        WireForm(
            ShredRequest.self, "ShredOrder", #"{"links":true,"quick":true,"resources":[{\#(url)}]}"#,
            minimal: #"{"resources":[{\#(url)}]}"#),
        WireForm(DestructionRequest.self, "DestructionOrder", #"{"vault":"\#(vault)"}"#),
        WireForm(
            KeyringOrder.self, "KeyringOrder",
            #"{"act":"add","number":1,"proof":"a","revision":2,"slot":{"label":"b","memLimit":3,"#
                + #""method":"passphrase","number":4,"opsLimit":5,"rootKey":"c","salt":"d"}}"#,
            minimal: #"{"act":"backup","proof":"a","revision":2}"#),
        WireForm(
            RotationRequest.self, "RotationOrder",
            #"{"dropSlots":true,"locator":false,"root":true,"slots":[{"loose":true,"method":"key-file","name":"a","#
                + #""path":"/b"}]}"#,
            minimal: "{}"),
        WireForm(SubtitleDetails.self, "SubtitleDetails", #"{"language":"de","text":"a"}"#),
        WireForm(RetirementRequest.self, "RetirementOrder", #"{"generation":1}"#),
        WireForm(
            LimitsDocument.self, "Limits",
            #"{"dryRun":true,"evictDownloads":true,"maxAge":1,"maxSize":"2B","minFree":"default"}"#, minimal: "{}"),
        WireForm(
            SettingsChange.self, "SettingsChange",
            #"{"addressFamily":"ipv6","allowHost":{"a":true},"caFile":"","clientCertificate":{"*":"p","a":null},"cookieFile":"","downloadHours":"01:00-06:00","downloadRate":5,"downloadsPerHost":2,"evictDownloads":true,"headerFor":{"h":{"X-A":"v","X-B":null},"i":null},"#
                + #""ignoreEtag":{"b":false},"ignoreQuery":{"c":["d"],"e":null},"immutable":{"f":true},"languages":["de"],"leastRate":0,"#
                + #""mapHost":{"g":"h","i":null},"maxAge":1,"maxSize":"2B","minFree":"0B","mode":"default","#
                + #""notifyCommand":["/n","x"],"parallelDownloads":3,"#
                + #""proxy":"http://a:b@c.example:1","proxyFor":{"d":"direct","e":null},"proxyFromEnvironment":true,"#
                + #""refreshCommand":[],"userAgent":"g"}"#,
            minimal: "{}"),
    ]

    /// Lines of long operations, events, and outputs of the command.
    private static let parts: [WireForm] = [
        WireForm(
            DownloadProgress.self, "DownloadProgress",
            #"{"held":1,"manifest":"hls","resources":{"held":1,"total":2},"total":2,"type":"text/html"}"#,
            minimal: #"{"held":1}"#),
        WireForm(
            LoggedLineDocument.self, "LoggedLine", loggedLine,
            minimal: #"{"level":"notice","message":"a","reason":null,"time":"2026-11-23T22:15:39Z"}"#),
        WireForm(
            VerifyProgress.self, "VerificationProgress",
            #"{"bytesOpened":1,"bytesTotal":2,"damage":3,"segments":4,"segmentsTotal":5}"#),
        WireForm(
            VerifyReport.self, "Verification",
            #"{"bytesOpened":1,"bytesRefetched":2,"damage":{"block":3,"header":0,"key":0,"missing":0,"record":0,"#
                + #""resource":0,"row":0,"settings":0,"size":1},"damagedResources":1,"orphans":{"adopted":1,"good":2,"quarantined":3,"#
                + #""strange":4},"records":[{"count":2,"kind":"viewers","problem":"b","repaired":false}],"remaining":1,"#
                + #""resources":[{"damage":{"block":3},"id":"a","problem":"b","ranges":[[0,5],[7,9]],"repaired":true,"#
                + #""url":"https://a.example/"}],"restored":3,"segments":6,"sound":false,"#
                + #""unreadable":7}"#,
            minimal: #"{"bytesOpened":1,"bytesRefetched":2,"damage":{"block":0,"header":0,"key":0,"missing":0,"#
                + #""record":0,"resource":0,"row":0,"settings":0,"size":0},"damagedResources":1,"#
                + #""orphans":{"adopted":0,"good":0,"quarantined":0,"strange":0},"#
                + #""records":[{"count":2,"kind":"viewers","problem":null,"repaired":true}],"remaining":0,"#
                + #""resources":[{"damage":{},"id":"a","problem":null,"ranges":[],"repaired":false,"url":null}],"#
                + #""restored":0,"segments":6,"sound":true,"unreadable":0}"#),
        WireForm(RewrapProgress.self, "RewrapProgress", #"{"keys":1,"total":2}"#),
        WireForm(RewrapReport.self, "Rewrap", #"{"generation":1,"keys":2,"older":[3],"unopened":4}"#),
        WireForm(
            ResealProgress.self, "ResealProgress", #"{"bytes":1,"bytesTotal":2,"resources":3,"resourcesTotal":4}"#),
        WireForm(
            ResealReport.self, "Reseal",
            #"{"bytes":1,"damage":2,"problems":3,"resources":4,"segments":5,"subjects":["a"]}"#),
        WireForm(
            StoreDocument.self, "Store",
            #"{"evicted":1,"isStoring":true,"message":"a","passedThrough":2,"reason":"b"}"#,
            minimal: "{}"),
        WireForm(ChangeDocument.self, "Change", #"{"id":"k3v7q2ma","resource":\#(resource)}"#),
        WireForm(ViewedChangeDocument.self, "ViewedChange", #"{"id":"k3v7q2ma","resource":\#(viewed)}"#),
        WireForm(ViewedTitleDocument.self, "ViewedTitle", viewed),
        WireForm(ViewerDocument.self, "Viewer", viewer),
        WireForm(TitleTags.self, "Tags", tags, minimal: "{}"),
        WireForm(
            CollectionDocument.self, "Collection",
            #"{"id":"0a1b2c3d0a1b2c3d","kind":"own","mode":"offline","name":"a","pinned":true,"titles":["k3v7q2ma"],"#
                + #""viewers":[]}"#,
            minimal: #"{"id":"0a1b2c3d0a1b2c3d","kind":"own","mode":null,"name":null,"pinned":false,"titles":[],"#
                + #""viewers":[]}"#),
        WireForm(FailedSignInsDocument.self, "FailedSignIns", failures),
        WireForm(ShareDocument.self, "Share", share),
        WireForm(PositionDocument.self, "Position", position),
        WireForm(RemovedDocument.self, "Removed", #"{"id":"k3v7q2ma"}"#),
    ]
}
