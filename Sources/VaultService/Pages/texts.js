// All texts: a key, then English, then German. A text with a number has two forms: the key of that for one ends with 1.
// Those of the owner's pages are in texts-owner.js.

import {owners} from './texts-owner.js';

export const LANGUAGES = {en: 'English', de: 'Deutsch'};
const ORDER = Object.keys(LANGUAGES);

const texts = new Map([`# The frame
isLocked|The vault is locked|Der Tresor ist gesperrt
isLockedWords|Its keys are wiped from the memory. To open it, restart the service on the box, with its key. This page goes on as soon as it is open.|Seine Schlüssel sind aus dem Speicher gelöscht. Zum Öffnen starten Sie den Dienst auf dem Gerät neu, mit dem Schlüssel. Diese Seite macht weiter, sobald er offen ist.
skip|Skip to the content|Zum Inhalt
pages|Pages|Seiten
language|Language|Sprache
page.shelf|Shelf|Regal
page.titles|Titles|Titel
page.downloads|Downloads|Downloads
page.storage|Storage|Speicher
page.keys|Keys|Schlüssel
page.access|Access|Zugang
page.health|Health|Zustand
page.settings|Settings|Einstellungen
signedInAs|Signed in as {name}|Angemeldet als {name}
owner|the owner|Eigentümer
guest|a guest|Gast
signOut|Sign out|Abmelden
spentTicket|This link was used, or is older than a minute. Make another one.|Dieser Link wurde schon genutzt, oder ist älter als eine Minute. Machen Sie einen neuen.
welcome|Open the vault|Den Tresor öffnen
signIn|Sign in|Anmelden
viewerName|Name|Name
pinCode|PIN|PIN
wrongPIN|Name or PIN is wrong.|Name oder PIN ist falsch.
waitForPIN|There were too many wrong tries. Wait {seconds} seconds.|Es waren zu viele falsche Versuche. Warten Sie {seconds} Sekunden.
ownersOnly|For the owner|Für den Eigentümer
runOpen|You are not signed in. Run this command on the box:|Sie sind nicht angemeldet. Geben Sie auf dem Gerät diesen Befehl ein:
runOpenMore|It opens this page, signed in. If the keys were locked, restart the service first.|Er öffnet diese Seite angemeldet. Wenn die Schlüssel gesperrt wurden, starten Sie erst den Dienst neu.
isLost|The connection to the box is lost.|Die Verbindung zum Gerät ist weg.
isBack|The connection is back.|Die Verbindung ist wieder da.
nextTry|Next try in {seconds} s.|Nächster Versuch in {seconds} s.
tryNow|Try now|Jetzt versuchen
tryAgain|Try again|Noch einmal
away|The service does not answer. This page goes on as soon as it does.|Der Dienst antwortet nicht. Diese Seite macht weiter, sobald er antwortet.
notReached|The service does not answer.|Der Dienst antwortet nicht.
refused|The service refused this: {why}|Der Dienst hat abgelehnt: {why}
failed|This did not work|Das hat nicht geklappt
noSuchTitle|The vault does not have this title.|Der Tresor hat diesen Titel nicht.
toShelf|To the shelf|Zum Regal
close|Close|Schließen
cancel|Cancel|Abbrechen
save|Save|Speichern
done|Done.|Erledigt.
never|never|nie
loading|One moment …|Einen Moment …
moreActs|More|Mehr
moreRooms|More|Mehr
# Why something failed
why.other|It was refused.|Es wurde abgelehnt.
why.invalidURL|The address cannot be used.|Die Adresse ist nicht brauchbar.
why.invalidArgument|What was entered cannot be used.|Die Eingabe ist nicht brauchbar.
why.owned|The service only reads the vault.|Der Dienst liest den Tresor nur.
why.storage|The disk of the vault fails.|Der Datenträger des Tresors macht Fehler.
why.diskFull|The disk is full.|Der Datenträger ist voll.
why.quotaExceeded|The limits of the vault leave no space.|Die Grenzen des Tresors lassen keinen Platz.
why.capacity|The limits of the vault leave no space.|Die Grenzen des Tresors lassen keinen Platz.
why.integrity|Stored bytes are damaged: run a check.|Gespeicherte Bytes sind beschädigt: prüfen Sie den Tresor.
why.unreachable|The origin cannot be reached.|Die Quelle ist nicht erreichbar.
why.refused|The origin refuses it.|Die Quelle gibt es nicht her.
why.invalidResponse|The origin’s answer cannot be used.|Die Antwort der Quelle ist nicht brauchbar.
why.changed|It changed at its origin meanwhile.|Es hat sich inzwischen an der Quelle geändert.
why.notHeld|It is not in the vault.|Es ist nicht im Tresor.
why.notMedia|It is no media, but perhaps a web page.|Es ist kein Film und kein Ton, sondern vielleicht eine Webseite.
why.followFeed|It is a feed, not media: follow it as a feed.|Es ist ein Feed: folgen Sie ihm als Feed.
why.locked|The vault is locked.|Der Tresor ist gesperrt.
why.closed|The service is ending.|Der Dienst wird gerade beendet.
why.removed|It was removed meanwhile.|Es wurde inzwischen entfernt.
why.busy|Something else is running: try again later.|Etwas anderes läuft gerade: versuchen Sie es später noch einmal.
why.inUse|Something else still needs it, or has this name.|Etwas anderes braucht es noch, oder heißt schon so.
why.nothingChecked|There is no such title.|Es gibt keinen solchen Titel.
why.incomplete|Not all of it is held.|Nicht alles davon ist da.
why.damaged|Bytes of it are damaged.|Bytes davon sind beschädigt.
why.unopened|No key opens it.|Kein Schlüssel öffnet es.
why.damageLeft|The last check left damage.|Die letzte Prüfung ließ Schaden zurück.
why.unreadable|Some of it cannot be read.|Manches davon ist nicht lesbar.
why.queued|Its download still waits.|Sein Download wartet noch.
why.evictable|A limit may remove it.|Eine Grenze kann es entfernen.
why.unverified|It was not checked for long.|Es wurde lange nicht geprüft.
why.keyOperation|An operation on the keys is unfinished.|Eine Arbeit an den Schlüsseln ist nicht fertig.
why.accessEnds|A link or a token ends before.|Ein Link oder ein Schlüsselwort endet vorher.
# The shelf
row.continue|Continue|Weiter
row.episodes|Next episodes|Nächste Folgen
row.new|New|Neu
row.collections|Collections|Sammlungen
collection.album|Album|Album
collection.series|Series|Serie
collection.feed|Feed|Feed
collection.folder|Folder|Ordner
collection.own|Collection|Sammlung
titleOf|Title of {day}|Titel vom {day}
toDownloads|Add a title|Einen Titel hinzufügen
toTitle|Manage this title|Diesen Titel verwalten
search|Search titles|Titel suchen
filter|Show|Zeigen
filter.all|All titles|Alle Titel
filter.held|Held whole|Ganz da
filter.partial|Held in part|Teilweise da
filter.pinned|Pinned|Angeheftet
sort|Sort by|Ordnen nach
sort.name|Name|Name
sort.played|Last used|Zuletzt genutzt
sort.added|Last added|Zuletzt hinzugefügt
sort.size|Size|Größe
titles|{count} titles|{count} Titel
titles1|1 title|1 Titel
collections|{count} collections|{count} Sammlungen
collections1|1 collection|1 Sammlung
nothingFound|No title matches.|Kein Titel passt.
nothingShared|Nothing is shared with you yet.|Noch wird nichts mit Ihnen geteilt.
emptyShelf|The vault is empty. Add a title on the page Downloads.|Der Tresor ist leer. Fügen Sie auf der Seite Downloads einen Titel hinzu.
heldWhole|held whole|ganz da
heldShare|{share} held|{share} da
heldBytes|{bytes} held|{bytes} da
pinned|pinned|angeheftet
watched|watched|gesehen
leftAt|left at {time}|bis {time} gesehen
# The player
player|Player|Abspieler
play|Play|Abspielen
pause|Pause|Anhalten
seek|Place in the title|Stelle im Titel
place|{now} of {length}|{now} von {length}
placeHole|{now} of {length}, not held|{now} von {length}, nicht da
back|Back {seconds} seconds|{seconds} Sekunden zurück
ahead|Ahead {seconds} seconds|{seconds} Sekunden vor
mute|Mute|Ton aus
unmute|Sound on|Ton an
volume|Volume|Lautstärke
speed|Speed|Tempo
audio|Sound track|Tonspur
subtitles|Subtitles|Untertitel
noSubtitles|No subtitles|Keine Untertitel
subtitlesNotHeld|These subtitles are not held here, and their origin does not give them now.|Diese Untertitel sind nicht da, und die Quelle gibt sie jetzt nicht her.
subtitlesUnread|These subtitles cannot be shown: they are not in WebVTT.|Diese Untertitel lassen sich nicht zeigen: sie sind nicht in WebVTT.
subtitlesCut|These subtitles are too long: only their beginning is shown.|Diese Untertitel sind zu lang: nur ihr Anfang wird gezeigt.
picture|Picture in picture|Bild im Bild
full|Full screen|Vollbild
next|Next title|Nächster Titel
nextIs|Next:|Danach:
playNow|Play now|Jetzt abspielen
stayHere|Stay here|Hier bleiben
beginsIn|begins in {seconds} s|beginnt in {seconds} s
nothingFollows|Nothing follows.|Nichts folgt.
queueOf|Play queue|Abspielliste
playsNow|Plays now|Spielt jetzt
playAfter|Play next|Als Nächstes abspielen
addToQueue|Add to queue|Zur Abspielliste
addAll|Add all to queue|Alle zur Abspielliste
playsAfter|“{name}” plays next.|„{name}“ spielt als Nächstes.
inQueue|“{name}” is in the queue.|„{name}“ ist in der Abspielliste.
fromQueue|Take out of the queue|Aus der Abspielliste nehmen
closePlayer|Close the player|Abspieler schließen
tune|Speed, sound and subtitles|Tempo, Ton und Untertitel
cueSize|Size of subtitles|Größe der Untertitel
cue.small|small|klein
cue.normal|normal|normal
cue.large|large|groß
cue.huge|very large|sehr groß
sleep|Sleep timer|Schlaf-Timer
sleepOff|off|aus
sleepIn|in {minutes} minutes|in {minutes} Minuten
sleepEnd|at the end of the title|am Ende des Titels
sleeps|The sleep timer has stopped the player.|Der Schlaf-Timer hat den Abspieler angehalten.
chapters|Chapters|Kapitel
chapter|Chapter {number}|Kapitel {number}
fromStart|Play from the start|Von vorn abspielen
playsOffline|All of it is held. It plays without the network.|Alles ist da. Es spielt ohne Netz.
playsOnlineOnly|Nothing of it is held. It plays only with the network.|Nichts davon ist da. Es spielt nur mit Netz.
partsUnknown|{held}. Some of it will not play without the network; the box does not say where.|{held}. Manches spielt nicht ohne Netz; das Gerät sagt nicht, wo.
holes|{held}. Without the network, these parts will not play (about): {holes}.|{held}. Ohne Netz spielen diese Teile nicht (ungefähr): {holes}.
holesMore|{held}. Without the network, these parts will not play (about): {holes}, and {more} more.|{held}. Ohne Netz spielen diese Teile nicht (ungefähr): {holes} und {more} weitere.
legendPlayed|played|gespielt
legendHeld|held|da
legendHole|not held|nicht da
waits|Waiting for bytes …|Wartet auf Bytes …
waitsForService|The service is away. The title goes on here when it is back.|Der Dienst ist weg. Der Titel geht hier weiter, wenn er zurück ist.
notHeldHere|The next part is not held, and the network does not bring it now.|Der nächste Teil ist nicht da, und das Netz bringt ihn jetzt nicht.
notHeldAround|This part does not play without the network: not all that it needs is held.|Dieser Teil spielt ohne Netz nicht: Nicht alles, was er braucht, ist da.
jumpHeld|Go on at {time}|Bei {time} weiter
cannotPlay|This browser cannot play this title ({type}). Another player may: see “mediavault url”.|Dieser Browser kann den Titel nicht abspielen ({type}). Vielleicht ein anderer: siehe „mediavault url“.
noHls|This browser cannot play HLS titles. Safari, a newer Chrome and mpv can: see “mediavault url”.|Dieser Browser kann keine HLS-Titel abspielen. Safari, ein neueres Chrome und mpv können es: siehe „mediavault url“.
noDashViewer|Browsers cannot play this title. Ask the owner for a link that mpv or VLC can play.|Browser können diesen Titel nicht abspielen. Bitten Sie um einen Link, den mpv oder VLC spielen können.
noDash|Browsers cannot play DASH titles. mpv and VLC can: see “mediavault url”.|Browser können keine DASH-Titel abspielen. mpv und VLC können es: siehe „mediavault url“.
notShared|This title is not shared with you any more.|Dieser Titel wird nicht mehr mit Ihnen geteilt.
wasRemoved|This title was removed from the vault.|Dieser Titel wurde aus dem Tresor entfernt.
keyWords|Keys: Space plays and pauses, ← → jump, 0 to 9 go to a tenth, < > change the speed, M mutes, F fills the screen, P is picture in picture, N is next.|Tasten: Leertaste spielt und hält an, ← → springen, 0 bis 9 gehen zu einem Zehntel, < > ändern das Tempo, M Ton, F Vollbild, P Bild im Bild, N nächster Titel.
# Words of several pages
acts|Actions|Aktionen
more|Show more|Mehr zeigen
held|Held|Da
remove|Remove|Entfernen
revoke|Revoke|Widerrufen
number|Number|Nummer
time|Time|Zeit
act|Act|Aktion
outcome|Outcome|Ergebnis
progress|Progress|Fortschritt
none|none|keine
yes|yes|ja
no|no|nein
now|now|jetzt
oneDay|for a day|für einen Tag
oneWeek|for a week|für eine Woche
oneMonth|for 30 days|für 30 Tage
oneYear|for a year|für ein Jahr
forEver|for ever|für immer
days|{count} days|{count} Tage
days1|1 day|1 Tag
ofSize|{held} of {size} {share}|{held} von {size} {share}
`, owners].join('').split('\n').map(line => line.split('|')).map(([key, ...forms]) => [key, forms]));

let chosen = null;
try { chosen = JSON.parse(localStorage.getItem('mv.language')); } catch { /* there may be no store */ }
chosen = ORDER.includes(chosen) ? chosen : (navigator.languages || []).map(tag => tag.slice(0, 2)).find(tag => ORDER.includes(tag)) || 'en';

export const language = () => chosen;

export function setLanguage(name) {
	chosen = name;
	try { localStorage.setItem('mv.language', JSON.stringify(name)); } catch { /* then it is for this page only */ }
}

export function t(key, values = {}) {
	const text = texts.get(key)?.[ORDER.indexOf(chosen)] ?? key;
	return text.replace(/\{(\w+)\}/g, (whole, name) => name in values ? String(values[name]) : whole);
}

export const many = (key, count, values = {}) => t(count === 1 ? `${key}1` : key, {
	count: new Intl.NumberFormat(chosen).format(count), ...values});

export const hasText = key => texts.has(key);
