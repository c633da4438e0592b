"""Plays addresses in a real Chromium, headless. Reads one JSON request per line, prints what it saw as one JSON line.
Run by sessions.Chromium with a Python that has playwright.

    {"address": "http://…", "seconds": [9, 3]}
    {"address": "http://…"}                     only plays it to its end; tells how many seconds that were
"""

import json
import sys
import urllib.parse

from playwright.sync_api import Error, sync_playwright

ANSWER_WITHIN = 60_000  # milliseconds

# The page has the same origin as the media, so that it may read the pixels.
_PAGE = """
async ({address, seconds}) => {
    const hex = buffer => Array.from(new Uint8Array(buffer), byte => byte.toString(16).padStart(2, '0')).join('');
    const digest = async bytes => hex(await crypto.subtle.digest('SHA-256', bytes));
    const video = document.createElement('video');
    document.body.replaceChildren(video);
    video.muted = true;
    const happens = event => new Promise((done, failed) => {
        video.addEventListener(event, done, {once: true});
        video.addEventListener('error', () => failed(new Error(`media error ${video.error.code}`)), {once: true});
    });
    const reaches = async second => { while (video.currentTime < second) await happens('timeupdate'); };
    const shown = async () => {
        if (!video.videoWidth) return [video.currentTime];
        const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
        const context = canvas.getContext('2d');
        context.drawImage(video, 0, 0);
        return [video.currentTime, await digest(context.getImageData(0, 0, canvas.width, canvas.height).data)];
    };
    const goTo = async second => {
        video.pause();
        const there = happens('seeked');
        video.currentTime = second;
        await there;
        return shown();
    };
    const seen = {};
    let ready = happens('canplay');
    video.src = address;
    try { await ready; } catch { return null; }
    seen.duration = video.duration;
    await video.play();
    await reaches(0.2);
    for (const second of seconds) {
        seen[`seek to ${second} s`] = await goTo(second);
        await video.play();
        await reaches(second + 0.2);
    }
    video.removeAttribute('src');
    video.load();
    ready = happens('canplay');
    video.src = address;
    await ready;
    seen.resume = await goTo(seconds.at(-1));
    await video.play();
    await reaches(seconds.at(-1) + 0.2);
    video.pause();
    let bytes;
    try {
        bytes = await (await fetch(address)).arrayBuffer();
    } catch {  // a fetch does not go on where its line broke
        seen.bytes = null;
        return seen;
    }
    seen.bytes = [bytes.byteLength, await digest(bytes)];
    if (!video.videoWidth) {
        const sound = await new OfflineAudioContext(1, 1, 48000).decodeAudioData(bytes);
        seen.samples = [sound.length, await digest(sound.getChannelData(0))];
    }
    return seen;
}
"""

_PAGE_TO_END = """
async ({address}) => {
    const video = document.createElement('video');
    document.body.replaceChildren(video);
    video.muted = true;
    const ended = new Promise((done, failed) => {
        video.addEventListener('ended', done, {once: true});
        video.addEventListener('error', () => failed(new Error(`media error ${video.error.code}`)), {once: true});
    });
    video.src = address;
    await video.play();
    const first = video.currentTime;
    await ended;
    return video.currentTime - first;
}
"""


def session(browser, request):
    context = browser.new_context()
    try:
        page = context.new_page()
        page.set_default_timeout(ANSWER_WITHIN)
        parts = urllib.parse.urlsplit(request["address"])
        page.goto(f"{parts.scheme}://{parts.netloc}/healthz")  # only the origin of the page matters, not the answer
        return {"seen": page.evaluate(_PAGE if "seconds" in request else _PAGE_TO_END, request)}
    except Error as error:
        return {"error": error.message}
    finally:
        context.close()


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(
        executable_path="/usr/bin/chromium", args=["--no-sandbox", "--autoplay-policy=no-user-gesture-required"])
    for line in sys.stdin:
        print(json.dumps(session(browser, json.loads(line))), flush=True)
    browser.close()
