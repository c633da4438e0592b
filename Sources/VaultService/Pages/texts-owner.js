// The texts of the pages with which the owner runs the box, in the form of texts.js.

export const owners = `# Downloads
clearAll|Clear the failed and the done|Gescheiterte und fertige wegräumen
overList|Done|Erledigt
over|{count} are done|{count} sind erledigt
over1|1 is done|1 ist erledigt
queue|Queue|Warteschlange
queueEmpty|Nothing waits.|Nichts wartet.
count.running|{count} running|{count} laufen
count.running1|1 running|1 läuft
count.waiting|{count} waiting|{count} warten
count.waiting1|1 waiting|1 wartet
count.paused|{count} paused|{count} angehalten
count.paused1|1 paused|1 angehalten
count.failed|{count} failed|{count} gescheitert
count.failed1|1 failed|1 gescheitert
count.damaged|{count} damaged|{count} beschädigt
count.damaged1|1 damaged|1 beschädigt
state.waiting|waiting|wartet
state.running|running|läuft
state.paused|paused|angehalten
state.failed|failed|gescheitert
state.done|done|fertig
state.ended|ended|beendet
act.pause|Pause|Anhalten
act.resume|Resume|Fortsetzen
act.retry|Retry|Noch einmal
act.cancel|Cancel|Abbrechen
act.first|First|Als erster
act.last|Last|Als letzter
pauseAll|Pause all|Alle anhalten
resumeAll|Resume all|Alle fortsetzen
retryAll|Retry all|Alle noch einmal
left|{time} left|noch {time}
nextAttempt|next try {time}|nächster Versuch {time}
byClient|a client waits for it|ein Programm wartet darauf
wasClient|a client waited for it|ein Programm wartete darauf
noURL|“{text}” is no URL.|„{text}“ ist keine URL.
add|Download|Herunterladen
addURLs|Addresses|Adressen
addURLsHint|One on each line. The service fetches them, even if this page is closed.|Eine je Zeile. Der Dienst holt sie, auch wenn diese Seite zu ist.
addLanguages|Of sound and subtitles, such as de,en. Empty means those of the settings.|Von Ton und Untertiteln, etwa de,en. Leer heißt: die der Einstellungen.
addName|Name, if it is one title|Name, wenn es ein Titel ist
addFirst|Before all others|Vor allen anderen
queued|{count} titles are in the queue.|{count} Titel sind in der Warteschlange.
queued1|The title is in the queue.|Der Titel ist in der Warteschlange.
feeds|Feeds|Feeds
hourly|every hour|jede Stunde
daily|every day|jeden Tag
weekly|every week|jede Woche
addFeed|Follow a feed|Einem Feed folgen
feedURL|Address of the feed|Adresse des Feeds
every|Look for new titles|Nach neuen Titeln sehen
noFeeds|The vault follows no feed.|Der Tresor folgt keinem Feed.
runNow|Run now|Jetzt abrufen
nextRun|next {time}|nächstes Mal {time}
ran|{fetched} titles are new, {removed} are removed.|{fetched} Titel sind neu, {removed} sind entfernt.
repaired|Read with repairs: {repairs}.|Mit Reparaturen gelesen: {repairs}.
removeFeed|Follow “{name}” no longer?|„{name}“ nicht mehr folgen?
removeFeedWords|No new titles come from it.|Es kommen keine neuen Titel mehr.
removeFeedTitles|Remove its titles, too|Auch seine Titel entfernen
# Titles
pin|Pin|Anheften
unpin|Unpin|Loslösen
pinnedNow|“{name}” is pinned: no limit takes it away.|„{name}“ ist angeheftet: keine Grenze nimmt es weg.
unpinnedNow|“{name}” is no longer pinned.|„{name}“ ist nicht mehr angeheftet.
rename|Rename|Umbenennen
renameTitle|Rename “{name}”|„{name}“ umbenennen
newName|New name|Neuer Name
renameWords|Without a name, that of the media or of the file is shown.|Ohne Namen steht dort der des Mediums oder der Datei.
renameSeveral|Rename several titles|Mehrere Titel umbenennen
choose|Choose “{name}”|„{name}“ auswählen
moveInto|Move into a collection|In eine Sammlung legen
moveWords|They are shared with the viewers of that collection, and no longer with those of their former one. Without a name they belong where their series, album, feed or folder says.|Sie sind mit den Zuschauern dieser Sammlung geteilt, und nicht mehr mit denen ihrer früheren. Ohne Namen gehören sie dorthin, wo Serie, Album, Feed oder Ordner sie hinstellt.
renameGroupWords|Without a name, that of the series, album, feed or folder is shown.|Ohne Namen steht dort der von Serie, Album, Feed oder Ordner.
pinGroup|Pin all, also what comes later|Alle anheften, auch was noch kommt
unpinGroup|Unpin all|Alle loslösen
removeTitle|Remove “{name}”?|„{name}“ entfernen?
removeWords|The {bytes} that are held of it will be gone. To play, it must be fetched again, if its origin still has it.|Die {bytes}, die davon da sind, gehen verloren. Zum Spielen muss es neu geholt werden, wenn die Quelle es noch hat.
removePinned|It is pinned: someone wanted to keep it.|Es ist angeheftet: jemand wollte es behalten.
removedNow|“{name}” is removed ({bytes}).|„{name}“ ist entfernt ({bytes}).
shred|Shred|Vernichten
shredTitle|Shred “{name}”?|„{name}“ vernichten?
shredWords|The {bytes} that are held of it will be gone, and its key is destroyed: today’s keys open no old copy of it. A copy of the vault from before still plays it with a copy of its keys. No one can undo this.|Die {bytes}, die davon da sind, gehen verloren, und der Schlüssel wird zerstört: die heutigen Schlüssel öffnen keine alte Kopie davon. Eine frühere Kopie des Tresors spielt es noch mit einer Kopie seiner Schlüssel. Niemand kann das rückgängig machen.
shredMore|Other titles stay; they get a new generation of keys, which may take a moment.|Andere Titel bleiben; sie bekommen eine neue Schlüsselgeneration, was dauern kann.
shreddedNow|“{name}” is shredded.|„{name}“ ist vernichtet.
shreddedPartly|“{name}” is removed. Its key can still be opened with generation {generation}: retire that one, too.|„{name}“ ist entfernt. Generation {generation} kann seinen Schlüssel noch öffnen: setzen Sie auch sie außer Dienst.
damagedRows|{count} entries do not open|{count} Einträge gehen nicht auf
damagedRows1|1 entry does not open|1 Eintrag geht nicht auf
class.pinned|pinned|angeheftet
class.download|downloaded|heruntergeladen
class.cache|played|gespielt
allTitles|All titles|Alle Titel
fetchRest|Fetch the rest|Den Rest holen
mode|Mode|Modus
mode.default|As the vault|Wie der Tresor
set.modeDefault|As the service was started|Wie der Dienst gestartet wurde
mode.online|Online|Online
mode.prefer-vault|Vault first|Erst der Tresor
mode.offline|Offline|Offline
mode.no-store|Store nothing|Nichts speichern
titleEnds|The end of this title|Das Ende dieses Titels
removeSays|Removing takes it out of the vault. It can be fetched again.|Entfernen nimmt ihn aus dem Tresor. Er lässt sich wieder holen.
shredSays|Shredding also destroys its key. No one can undo it.|Vernichten zerstört auch seinen Schlüssel. Niemand kann es rückgängig machen.
setCover|Cover|Titelbild
addSubtitles|Add subtitles|Untertitel hinzufügen
removeSubtitles|Remove subtitles: {language}|Untertitel entfernen: {language}
subtitleFile|File with subtitles|Datei mit Untertiteln
subtitleWords|SubRip (.srt) or WebVTT (.vtt), at most 2 MB|SubRip (.srt) oder WebVTT (.vtt), höchstens 2 MB
coverFile|Picture|Bild
coverWords|JPEG, PNG or WebP, at most 1 MB|JPEG, PNG oder WebP, höchstens 1 MB
removeCover|Take the given cover away|Das gegebene Titelbild wegnehmen
byteMap|Held bytes|Bytes, die da sind
ranges|Bytes {words}|Bytes {words}
saveCopy|Save a copy…|Eine Kopie speichern…
saveCopyOf|Save a copy of “{name}”?|Eine Kopie von „{name}“ speichern?
saveCopyAct|Save|Speichern
saveCopyWords|The copy is not encrypted: who can read the file can play it. It stays when the vault is locked, and when the title is removed.|Die Kopie ist nicht verschlüsselt: wer die Datei lesen kann, kann sie spielen. Sie bleibt, wenn der Tresor gesperrt ist, und wenn der Titel entfernt wird.
saveCopyFolder|This title has several files, and a browser saves one. The command “mediavault export” copies them into a folder that plays; the copy is not encrypted.|Dieser Titel hat mehrere Dateien, und ein Browser speichert eine. Der Befehl „mediavault export“ kopiert sie in einen Ordner, der spielt; die Kopie ist nicht verschlüsselt.
saveCopyHole|A copy can be saved once all of the title is held.|Eine Kopie lässt sich speichern, sobald der ganze Titel da ist.
mapOfFiles|This title has several files. {held} of them are held.|Dieser Titel hat mehrere Dateien. {held} davon sind da.
cameFrom|Where the last bytes came from|Woher die letzten Bytes kamen
source.vault|the vault|dem Tresor
source.origin|the origin, stored|der Quelle, gespeichert
source.unstored|the origin, not stored|der Quelle, nicht gespeichert
shareFrom|{share} from {source}|{share} aus {source}
stillRuns|still playing|spielt noch
noAnswers|Nothing was played since the service started.|Seit dem Start des Dienstes wurde nichts gespielt.
receipts|Receipts|Belege
receipt.rotate|Rotation|Wechsel
receipt.rotate-root|Change of the root key|Wechsel des Wurzelschlüssels
receipt.change-locator|Change of the locator|Wechsel des Locators
receipt.rewrap|Rewrapping|Umhüllen
receipt.reseal|Resealing|Neu versiegeln
receipt.retire|Retirement|Außerdienststellung
receipt.shred|Shredding|Vernichten
receipt.destroy|Destruction of the vault|Zerstörung des Tresors
receipt.revoke-links|Revocation of links|Widerruf der Links
receipt.slot-add|New slot|Neuer Zugang
receipt.slot-remove|Removal of a slot|Entfernter Zugang
receipt.slot-change|Change of a slot|Geänderter Zugang
receipt.backup|Backup of the keyring|Sicherung des Schlüsselbunds
receipt.restore|Restored keyring|Wiederhergestellter Schlüsselbund
outcome.done|done|fertig
outcome.partly|done in part|teilweise
outcome.removed|removed|entfernt
outcome.destroyed|destroyed|zerstört
noReceipts|There are no receipts yet.|Es gibt noch keine Belege.
fact.held|Held|Da
fact.size|Size|Größe
fact.class|Kept as|Gehalten als
fact.id|Id|Kennung
fact.type|Type|Art
fact.added|Added|Hinzugefügt
fact.played|Last used|Zuletzt genutzt
fact.generation|Generation of keys|Schlüsselgeneration
fact.url|Address|Adresse
fact.otherAudio|Sound that was not fetched|Ton, der nicht geladen ist
fact.otherSubtitles|Subtitles that were not fetched|Untertitel, die nicht geladen sind
fact.subtitles|Added subtitles|Hinzugefügte Untertitel
fact.files|Files|Dateien
# Storage
fact.titles|Titles|Titel
fact.heldBytes|Media held|Medien, die da sind
fact.used|Files on the disk|Dateien auf der Platte
fact.free|Free on the disk|Frei auf der Platte
fact.evicted|Evicted so far|Bisher verdrängt
fact.maxSize|Most bytes|Höchstens
fact.maxAge|Played titles stay|Gespielte Titel bleiben
fact.minFree|Disk left free|Frei bleibt
fact.evictDownloads|May evict downloads|Darf Downloads verdrängen
byClass|What takes the disk|Was die Platte füllt
largest|Largest titles|Größte Titel
limits|Limits|Grenzen
goesNext|What goes first when space is needed|Was zuerst geht, wenn Platz fehlt
goesNextWords|What was only played goes before downloads, and what was played longest ago goes first. Pinned titles stay.|Was nur gespielt wurde, geht vor Downloads, und was am längsten nicht gespielt wurde, geht zuerst. Angeheftete Titel bleiben.
goesNone|No limit takes anything away.|Keine Grenze nimmt etwas weg.
goesAt|goes in any case: {time}|geht auf jeden Fall: {time}
playedAt|last used {time}|zuletzt genutzt {time}
roomLeft|{bytes} are left until the limit.|Bis zur Grenze sind {bytes} übrig.
roomNone|The limit is reached.|Die Grenze ist erreicht.
noLimit|no limit|keine Grenze
minFreeDefault|5 %, at most 10 GiB|5 %, höchstens 10 GiB
changeLimits|Change the limits|Die Grenzen ändern
storeFails|Bytes are not stored now: {why}|Bytes werden jetzt nicht gespeichert: {why}
# Keys
rotate|Rotate|Wechseln
rotateAsk|Create a new generation of keys?|Eine neue Schlüsselgeneration anlegen?
rotateWords|New titles use it. Nothing is lost. Make a new backup of the keyring afterwards.|Neue Titel nutzen sie. Nichts geht verloren. Sichern Sie danach den Schlüsselbund neu.
rewrap|Rewrap|Umhüllen
rewrapSays|{keys} of {total} keys|{keys} von {total} Schlüsseln
rewrapDone|{keys} keys moved to generation {generation}.|{keys} Schlüssel sind nun in Generation {generation}.
reseal|Reseal|Neu versiegeln
resealAsk|Give every title a new key?|Jedem Titel einen neuen Schlüssel geben?
resealWords|All bytes are sealed again, while titles play. Do it if keys may have leaked. Nothing is lost; it may take hours.|Alle Bytes werden neu versiegelt, während Titel spielen. Tun Sie es, wenn Schlüssel bekannt geworden sein könnten. Nichts geht verloren; es kann Stunden dauern.
resealSays|{bytes} of {total}|{bytes} von {total}
resealDone|Every title has a new key.|Jeder Titel hat einen neuen Schlüssel.
slots|What opens the keyring|Was den Schlüsselbund öffnet
slotsWords|The command “mediavault keys slot” changes them.|Der Befehl „mediavault keys slot“ ändert sie.
method|Method|Art
method.key-file|key file|Schlüsseldatei
method.passphrase|passphrase|Passwort
method.command|command|Befehl
method.credential|credential|Systemd-Credential
lock|Lock now|Jetzt sperren
lockAsk|Lock the vault?|Den Tresor sperren?
lockWords|All keys leave the memory. Everything that plays stops at once, downloads stop, and you are signed out.|Alle Schlüssel verlassen den Speicher. Was spielt, hört sofort auf, Downloads halten an, und Sie sind abgemeldet.
lockMore|Nobody can open a title until someone restarts the service on the box, with its key.|Niemand kann einen Titel öffnen, bis jemand den Dienst auf dem Gerät neu startet, mit dem Schlüssel.
locked|The keys are wiped.|Die Schlüssel sind gelöscht.
retire|Retire|Außer Dienst
retireAsk|Destroy generation {number}?|Generation {number} zerstören?
retireWords|Nothing in the vault needs it. An old copy of the vault that does need it will never open again.|Nichts im Tresor braucht sie. Eine alte Kopie des Tresors, die sie braucht, geht nie wieder auf.
retireBackups|{count} backups of the keyring contain it and should be destroyed.|{count} Sicherungen des Schlüsselbunds enthalten sie und sollten zerstört werden.
generations|Generations|Generationen
generation|Generation|Generation
generation.current|current|aktuell
generation.active|older|älter
generation.retiring|being retired|geht außer Dienst
generation.retired|retired|außer Dienst
stateOf|State|Stand
created|Created|Angelegt
keysChanged|Keys changed|Geänderte Schlüssel
titlesOnIt|Titles|Titel
bytesOnIt|Bytes|Bytes
backups|Backups|Sicherungen
stillNeeded|still needed|noch gebraucht
fact.current|Current generation|Aktuelle Generation
fact.runningAct|Running now|Läuft gerade
fact.unlockedBy|Unlocked by|Geöffnet durch
fact.memory|Keys in memory|Schlüssel im Speicher
unlockedHere|{method}, on the same disk as the vault|{method}, auf derselben Platte wie der Tresor
memoryLocked|never swapped|nie ausgelagert
memoryLoose|may be swapped|vielleicht ausgelagert
auditSound|Receipts: {count}, all signed, none missing.|Belege: {count}, alle signiert, keiner fehlt.
auditLoose|Receipts: {count}, all signed. Some may be cut off at the end.|Belege: {count}, alle signiert. Am Ende können welche fehlen.
auditBad|The log is not sound. Line and fault: {faults}|Das Protokoll stimmt nicht. Zeile und Fehler: {faults}
# Access
viewers|Viewers|Zuschauer
viewersWords|A viewer signs in by name and PIN, or with a code from here. They see and play what is shared with them, and nothing of where it comes from.|Ein Zuschauer meldet sich mit Name und PIN an, oder mit einem Code von hier. Er sieht und spielt, was mit ihm geteilt ist, und nichts davon, woher es kommt.
addViewer|Add a viewer|Einen Zuschauer anlegen
sharesAll|Share everything with them, also what comes later|Alles mit ihm teilen, auch was noch kommt
pinHint|4 to 64 characters; without one, only a code from here signs them in|4 bis 64 Zeichen; ohne PIN meldet ihn nur ein Code von hier an
newPIN|New PIN|Neue PIN
pinOf|A new PIN for “{name}”|Eine neue PIN für „{name}“
pinWords|Leave it empty to take the PIN away. All devices of this viewer are signed out.|Leer nimmt die PIN weg. Alle Geräte dieses Zuschauers werden abgemeldet.
removeViewer|Remove “{name}”?|„{name}“ entfernen?
removeViewerWords|All their devices are signed out, and where they were in each title is forgotten. The titles stay.|Alle Geräte werden abgemeldet, und wo er in jedem Titel war, wird vergessen. Die Titel bleiben.
sees|Sees titles|Sieht Titel
all|all|alle
signInOf|Sign “{name}” in|„{name}“ anmelden
viewerCode|Let the camera of their device read the code, or open the address on it. It is good once, for a minute.|Lassen Sie die Kamera seines Geräts den Code lesen, oder öffnen Sie dort die Adresse. Sie gilt einmal, eine Minute lang.
unlock|Unlock|Entsperren
failedSignIns|Failed sign-ins as “{name}”|Fehlgeschlagene Anmeldungen als „{name}“
unlockWords|After wrong PINs the next try has to wait. Unlocking forgets them. A device on which they have signed in before does not wait for others.|Nach falschen PINs muss der nächste Versuch warten. Entsperren vergisst sie. Ein Gerät, auf dem er schon angemeldet war, wartet nicht wegen anderer.
thisMachine|this machine|dieser Rechner
knownDevice|has signed in before|war schon angemeldet
from|From|Von
howMany|How many|Wie viele
lastTry|Last try|Letzter Versuch
nextTryAt|Next try|Nächster Versuch
atOnce|at once|sofort
noViewers|There are no viewers. Add them on the page Access.|Es gibt keine Zuschauer. Legen Sie sie auf der Seite Zugang an.
share|Share|Teilen
shareTitle|Share “{name}” with|„{name}“ teilen mit
shareUnnamed|It has no name: viewers see “{name}”.|Er hat keinen Namen: Zuschauer sehen „{name}“.
seesAll|{name} (sees all titles)|{name} (sieht alle Titel)
shareLater|So is what comes later.|So auch, was noch kommt.
shareWords|They can play it at once, and no longer when you take it back.|Sie können es sofort spielen, und nicht mehr, wenn Sie es zurücknehmen.
playing|Playing now|Wird gerade gespielt
playingWords|What players ask the service for, and through whose links. A player that has stopped stays here for a minute and a half.|Was Abspieler vom Dienst verlangen, und durch wessen Links. Ein Abspieler, der aufgehört hat, bleibt hier anderthalb Minuten stehen.
aTitle|Title|Titel
leadsTo|Leads to|Führt zu
plays|Played by|Gespielt von
began|Since|Seit
lastAsked|Last request|Letzte Anfrage
nonePlays|Nothing is being played.|Nichts wird gespielt.
holder.viewer|Viewer|Zuschauer
holder.session|Browser of the owner|Browser des Eigentümers
holder.link|Named link|Benannter Link
holder.token|Token|Schlüsselwort
holder.unknown|A link without a name|Ein Link ohne Namen
sessions|Signed-in browsers|Angemeldete Browser
sessionsWords|The owner is signed out after a week, or after 12 hours without use; a viewer after 90 days, or after 14 without use.|Der Eigentümer wird nach einer Woche abgemeldet, oder nach 12 Stunden ohne Nutzung; ein Zuschauer nach 90 Tagen, oder nach 14 ohne Nutzung.
otherDevice|Sign another device in|Ein weiteres Gerät anmelden
otherDeviceWords|Let its camera read the code, or open the address on it. It is good once, for a minute, and the device can then do everything that you can.|Lassen Sie seine Kamera den Code lesen, oder öffnen Sie dort die Adresse. Sie gilt einmal, eine Minute lang, und das Gerät darf dann alles, was Sie dürfen.
linkIsHere|This address leads to this machine alone. For another device, open the pages by a name that it can reach, with TLS.|Diese Adresse führt nur zu diesem Gerät. Öffnen Sie für ein anderes die Seiten unter einem Namen, den es erreicht, mit TLS.
code|The address as a code for a camera|Die Adresse als Code für eine Kamera
browser|Browser|Browser
thisOne|this one|dieser
revoke.sessions|Sign “{name}” out?|„{name}“ abmelden?
revoke.sessionsWords|It is signed out at once, and the links that it made without a name end.|Er wird sofort abgemeldet, und die Links ohne Namen, die er gemacht hat, enden.
copy|Copy|Kopieren
copied|Copied.|Kopiert.
tokens|Tokens|Schlüsselworte
tokensWords|A token lets a program use the API, as far as its scope allows.|Ein Schlüsselwort lässt ein Programm die API nutzen, so weit es darf.
createToken|Create a token|Ein Schlüsselwort anlegen
newToken|The new token|Das neue Schlüsselwort
newTokenWords|Keep it now: it is never shown again.|Heben Sie es jetzt auf: es wird nie wieder gezeigt.
tokenScope|It may|Es darf
scope.metrics|read metrics|Messwerte lesen
scope.read|see what is held|sehen, was da ist
scope.play|see and play|sehen und abspielen
scope.admin|do everything|alles
lifetime|Valid|Gültig
expires|Expires|Endet
lastUsed|Last used|Zuletzt genutzt
noTokens|There are no tokens.|Es gibt keine Schlüsselworte.
links|Named links|Benannte Links
linksWords|A named link plays a title in any player, without a sign-in. Make one on the page of the title.|Ein benannter Link spielt einen Titel in jedem Abspieler, ohne Anmeldung. Machen Sie ihn auf der Seite des Titels.
makeLink|Make a link|Einen Link machen
linkTo|A link to “{name}”|Ein Link zu „{name}“
linkWords|Whoever has the link can play the title, and what lies beside it in its folder.|Wer den Link hat, kann den Titel spielen, und was neben ihm im Ordner liegt.
newLink|The new link|Der neue Link
noLinks|There are no named links.|Es gibt keine benannten Links.
revoke.tokens|Revoke the token “{name}”?|Das Schlüsselwort „{name}“ widerrufen?
revoke.tokensWords|Programs that use it are refused at once. The links that they made end, too.|Programme, die es nutzen, werden sofort abgewiesen. Auch die Links, die sie gemacht haben, enden.
revoke.links|Revoke the link “{name}”?|Den Link „{name}“ widerrufen?
revoke.linksWords|Players that use it stop at once, and bookmarks of it are dead.|Abspieler, die ihn nutzen, hören sofort auf, und Lesezeichen sind tot.
damagedGrants|{count} records cannot be read. They admit no one.|{count} Einträge sind nicht lesbar. Sie lassen niemanden ein.
# Health
storesNothing|Nothing is stored: {why}|Nichts wird gespeichert: {why}
fact.feeds|Feeds|Feeds
feedsFail|{count} fail for a day or longer|{count} scheitern seit einem Tag oder länger
feedsFail1|1 fails for a day or longer|1 scheitert seit einem Tag oder länger
logLines|Log|Protokoll
noLines|The log has no lines yet.|Das Protokoll hat noch keine Zeilen.
versionIs|MediaVault {version}|MediaVault {version}
copyReport|Copy for a report|Für einen Bericht kopieren
reportWords|The report has neither names nor addresses.|Der Bericht enthält weder Namen noch Adressen.
readiness|Ready without the network?|Bereit ohne Netz?
readyUntil|Must play|Muss spielen
readyTitles|Which titles|Welche Titel
onlyPinned|pinned titles|angeheftete Titel
pinnedAndDownloaded|pinned and downloaded titles|angeheftete und heruntergeladene Titel
ready|Ready: {titles}, {bytes}.|Bereit: {titles}, {bytes}.
notReadyYet|Not ready.|Nicht bereit.
notReady|Not ready. With gaps: {unready} of {titles}.|Nicht bereit. Mit Lücken: {unready} von {titles}.
verify|Check every block|Jeden Block prüfen
verifyWords|The service opens every block of every title. Titles play meanwhile.|Der Dienst öffnet jeden Block jedes Titels. Titel spielen weiter.
verifyAll|Check now|Jetzt prüfen
repair|Fetch bad blocks again|Schlechte Blöcke neu holen
stop|Stop|Abbrechen
verifies|{share} checked, {damage} damaged|{share} geprüft, {damage} beschädigt
verifySound|Sound: {bytes} checked.|In Ordnung: {bytes} geprüft.
verifyDamage|Damage in {titles}; {remaining} faults remain.|Schaden in {titles}; {remaining} Fehler bleiben.
verifyStopped|Stopped before the end.|Vor dem Ende abgebrochen.
figures|Figures|Zahlen
fact.fetched|Fetched ever|Je geholt
fact.store|Store|Speicher
fact.downloads|Downloads|Downloads
storeGood|stores|speichert
chart.fetched|Fetched|Geholt
chart.served|Sent to players|An Abspieler gesendet
chart.playing|Titles that players ask for|Titel, nach denen Abspieler fragen
chart.held|Media held|Medien, die da sind
chart.running|Downloads running|Laufende Downloads
chartSays|{title}: {now} now, at most {top}|{title}: jetzt {now}, höchstens {top}
chartsWords|The last hour, or since the service began.|Die letzte Stunde, oder seit der Dienst läuft.
events|Events|Ereignisse
noEvents|Nothing has happened since this page was opened.|Seit diese Seite offen ist, ist nichts geschehen.
event.resource|“{name}” changed: {held} held|„{name}“ hat sich geändert: {held} da
event.download|Download of “{name}” {state}: {held}|Download von „{name}“ {state}: {held}
event.removed|{id} was removed|{id} wurde entfernt
event.store|The store works, {bytes} evicted|Der Speicher arbeitet, {bytes} verdrängt
event.storeFails|Bytes are not stored: {why}|Bytes werden nicht gespeichert: {why}
event.many|Much has changed at once|Vieles hat sich auf einmal geändert
# Settings
settingsWords|The command “mediavault config” has more: what runs programs or is secret.|Der Befehl „mediavault config“ hat mehr: was Programme startet oder geheim ist.
saved|The settings are saved.|Die Einstellungen sind gespeichert.
nothingChanged|Nothing was changed.|Nichts wurde geändert.
set.vault|Vault|Tresor
set.mode|Mode|Modus
set.maxSize|Most bytes|Höchstens
hint.maxSize|A number with its unit: 200 MB, 1.5 TB. Empty means no limit.|Eine Zahl mit Einheit: 200 MB, 1.5 TB. Leer heißt keine Grenze.
set.maxAge|Days that played titles stay|Tage, die gespielte Titel bleiben
hint.maxAge|Empty means for ever.|Leer heißt für immer.
set.minFree|Disk space to leave free|Platz, der frei bleibt
hint.minFree|Empty means 5 % of the disk, at most 10 GiB; 0 means none.|Leer heißt 5 % der Platte, höchstens 10 GiB; 0 heißt keiner.
set.evictDownloads|Limits may evict downloaded titles|Grenzen dürfen heruntergeladene Titel verdrängen
set.parallelDownloads|Downloads at a time|Downloads zugleich
set.downloadsPerHost|Of these from one host|Davon von einem Host
set.downloadHours|Hours of the day|Stunden des Tages
hint.downloadHours|Such as 01:00-06:00. Empty means always.|Etwa 01:00-06:00. Leer heißt immer.
set.downloadRate|Megabytes per second|Megabyte pro Sekunde
hint.downloadRate|Empty means no limit.|Leer heißt keine Grenze.
set.languages|Languages|Sprachen
hint.languages|Sound and subtitles to fetch, such as de,en. Empty means what a title starts with.|Ton und Untertitel, die geladen werden, etwa de,en. Leer heißt: womit ein Titel beginnt.
set.leastRate|Least kilobytes per second|Mindestens Kilobyte pro Sekunde
hint.leastRate|A slower download gives its place to one that waits. 0 means that none does.|Was langsamer lädt, gibt seinen Platz ab, wenn etwas wartet. 0 heißt: nichts.
`;
