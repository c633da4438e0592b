"""The Debian package and the container image: built, installed in a system of their own, used, and removed."""

import glob
import json
import os
import re
import shutil
import subprocess
import tarfile
import unittest

from harness.case import ROOT, Settings, VaultCase, at_night
from harness.nginx_origin import free_port
from harness.waiting import eventually

needs_network = True  # for packages of Debian, which a system of its own is made of

PATHS = {
    "usr/bin/mediavault", "usr/lib/systemd/system/mediavault.service", "usr/lib/sysusers.d/mediavault.conf",
    "usr/libexec/mediavault/rotate-keys", "usr/share/man/man1/mediavault-fetch.1.gz",
    "usr/share/bash-completion/completions/mediavault", "usr/share/zsh/vendor-completions/_mediavault",
    "usr/share/fish/vendor_completions.d/mediavault.fish", "usr/share/doc/mediavault/copyright",
    "usr/share/doc/mediavault/README.md",
}
SIZE = 300_000


def run(*arguments, **options):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=600, **options)


def succeed(*arguments, **options):
    done = run(*arguments, **options)
    if done.returncode:
        raise AssertionError(f"{arguments[0]} exited {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def needs_libraries_of_swift():
    """Whether the command, unlike that of a release build by the scripts, runs only where Swift is installed."""
    return "libswiftCore" in succeed("ldd", Settings.binary)


def package(folder, *arguments, **options):
    """Packages the command; returns the paths that were written."""
    script = os.path.join(ROOT, "Scripts", "package")
    return succeed(script, "--binary", Settings.binary, "--folder", folder, *arguments, **options).split()


class Package(VaultCase):
    @classmethod
    def prepare(cls):
        cls.package, = package(cls.scratch)

    def field(self, name):
        return succeed("dpkg-deb", "--field", self.package, name).strip()

    def test_contents(self):
        """The package has command, units, scripts, pages and completions, readable by all, and owned by root"""
        files = {}
        for line in succeed("dpkg-deb", "--contents", self.package).splitlines():
            mode, owner, _, _, _, path = line.split()
            files[path.removeprefix("./")] = (mode[1:], owner)
        self.assertLessEqual(PATHS, set(files))
        for path, (mode, owner) in files.items():
            self.assertEqual((owner, mode in ("rwxr-xr-x", "rw-r--r--")), ("root/root", True), path)
        version = succeed(Settings.binary, "--version").split()[1]
        self.assertRegex(self.field("Version"), rf"^{re.escape(version)}(\+|$)")
        self.assertIn("libcurl4", self.field("Depends"))
        self.assertIn("libsodium23", self.field("Depends"))

    def test_paths(self):
        """No file of the package names a path of an installation by hand, and each path that it names is in it"""
        folder, named = os.path.join(self.scratch, "files"), set()
        succeed("dpkg-deb", "--extract", self.package, folder)
        for part in ("usr/lib/**", "usr/libexec/**"):
            for path in glob.glob(os.path.join(folder, part), recursive=True):
                if not os.path.isfile(path):
                    continue
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                self.assertNotIn("/usr/local", text, path)
                named |= set(re.findall(r"/usr/(?:bin/mediavault|libexec/[\w./-]+|share/doc/[\w./-]+)", text))
        self.assertGreater(len(named), 2)
        for path in named:
            self.assertTrue(os.path.exists(folder + path), path)

    @at_night("package")
    def test_again(self):
        """One commit gives one package, byte by byte"""
        again, = package(os.path.join(self.scratch, "again"))
        with open(self.package, "rb") as one, open(again, "rb") as other:
            self.assertTrue(one.read() == other.read())


@unittest.skipUnless(os.geteuid() == 0, "only root can install a package into a system of its own")
class Installed(VaultCase):
    """In minimal systems, which have nothing of this machine but its network."""

    @classmethod
    def prepare(cls):
        if needs_libraries_of_swift():
            raise unittest.SkipTest("the command needs Swift's libraries, which other machines do not have")
        cls.system = os.path.join(cls.scratch, "system")
        succeed("mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "bookworm", cls.system)
        cls.base = cls.system + ".tar"
        succeed("tar", "--create", "--file", cls.base, "--directory", cls.system, ".")
        # The command reads its arguments there.
        succeed("mount", "-t", "proc", "proc", os.path.join(cls.system, "proc"))
        cls.addClassCleanup(run, "umount", os.path.join(cls.system, "proc"))
        cls.origin = cls.new_scripted_origin()
        cls.origin.add("film.mp4", size=SIZE, seed=5)

    def inside(self, *arguments, **variables):
        """Runs a command in the system."""
        return run("chroot", self.system, *arguments, env=self.environment(**variables))

    @staticmethod
    def environment(**variables):
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/tmp",
                "MEDIAVAULT_DIR": "/var/lib/mediavault/vault", "MEDIAVAULT_KEY_FILE": "/var/lib/key",
                "MEDIAVAULT_KEYRING": "/var/lib/mediavault-keyring/keyring.json", **variables}

    @at_night("package")
    def test_life(self):
        """Installed where nothing else is, it plays without the network; removed and purged, it leaves the vault"""
        built, = package(self.scratch)
        shutil.copy(built, os.path.join(self.system, "tmp", "mediavault.deb"))

        def succeed_inside(*arguments, **variables):
            done = self.inside(*arguments, **variables)
            self.assertEqual(done.returncode, 0, (arguments, done.stdout[-1000:], done.stderr[-1000:]))
            return done.stdout

        succeed_inside("apt-get", "update", "-qq")
        succeed_inside("apt-get", "install", "-y", "-qq", "--no-install-recommends", "/tmp/mediavault.deb")
        self.assertRegex(succeed_inside("getent", "passwd", "mediavault"), ":/var/lib/mediavault:/usr/sbin/nologin$")
        self.assertRegex(succeed_inside("mediavault", "--version"), r"^mediavault \S+")
        succeed_inside("mediavault", "init")
        url = self.origin.url("film.mp4")
        succeed_inside("mediavault", "fetch", url)
        service = subprocess.Popen(
            ["chroot", self.system, "mediavault", "serve", "--mode", "offline"],
            env=self.environment(MEDIAVAULT_LISTEN=f"127.0.0.1:{free_port()}"), stderr=subprocess.DEVNULL)
        self.addCleanup(service.kill)
        eventually(lambda: self.inside("mediavault", "status", MEDIAVAULT_KEY_FILE="").returncode,
                   lambda code: code == 0)
        address = succeed_inside("mediavault", "url", url).strip()
        played = subprocess.run(["curl", "--silent", "--fail", address], capture_output=True, timeout=60)
        self.assertTrue(played.stdout == self.origin.film("film.mp4").content)
        service.terminate()
        self.assertEqual(service.wait(60), 0)
        succeed_inside("dpkg", "--remove", "mediavault")
        self.assertNotEqual(self.inside("mediavault", "--version").returncode, 0)
        left = succeed_inside("dpkg", "--purge", "mediavault")
        self.assertIn("was left where it is", left)
        for path in ("usr/bin/mediavault", "usr/lib/systemd/system/mediavault.service", "usr/libexec/mediavault"):
            self.assertFalse(os.path.exists(os.path.join(self.system, path)), path)
        self.assertTrue(os.path.exists(os.path.join(self.system, "var/lib/mediavault/vault/index.sqlite")))

    @at_night("package")
    def test_image(self):
        """The image is built from the package and a base image, and its command runs as a user of its own"""
        settings, secrets = os.path.join(self.scratch, "storage.conf"), os.path.join(self.scratch, "secrets")
        with open(settings, "w", encoding="ascii") as file:
            file.write(f'[storage]\ndriver = "vfs"\n'
                       f'graphroot = "{self.scratch}/images"\nrunroot = "{self.scratch}/run"\n')
        os.mkdir(secrets)
        os.chmod(secrets, 0o777)  # the user of the container creates its key here
        environment = {**os.environ, "CONTAINERS_STORAGE_CONF": settings, "MEDIAVAULT_BASE": "localhost/base"}

        def buildah(*arguments):
            return succeed("buildah", *arguments, env=environment).strip()

        base = buildah("from", "scratch")
        buildah("add", "--quiet", base, self.base, "/")
        buildah("commit", "--quiet", "--disable-compression", base, "localhost/base")
        built, archive = package(self.scratch, "--image", env=environment)
        self.assertTrue(tarfile.is_tarfile(archive))
        container = buildah("from", f"oci-archive:{archive}")

        def inside(*arguments):
            return buildah("run", "--isolation", "chroot", "--volume", f"{secrets}:/run/secrets", container, "--",
                           *arguments)

        self.assertEqual(inside("id", "--user", "--name"), "mediavault")
        inside("mediavault", "init")
        inside("mediavault", "fetch", self.origin.url("film.mp4"))
        self.assertEqual(json.loads(inside("mediavault", "status", "--json"))["resources"], 1)
        shown = json.loads(buildah("inspect", container))["OCIv1"]["config"]
        self.assertEqual((shown["Entrypoint"], shown["Cmd"]), (["/usr/bin/mediavault"], ["serve", "--insecure", "--host", "localhost"]))
        # The command that the image runs of itself, at another port of this machine.
        port = free_port()
        service = subprocess.Popen(
            ["buildah", "run", "--isolation", "chroot", "--volume", f"{secrets}:/run/secrets",
             "--env", f"MEDIAVAULT_LISTEN=0.0.0.0:{port}", container, "--", *shown["Entrypoint"], *shown["Cmd"]],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(service.wait, 60)
        self.addCleanup(service.terminate)
        up = ["curl", "--silent", "--fail", f"http://localhost:{port}/healthz"]
        self.assertTrue(eventually(lambda: service.poll() is None and run(*up).returncode == 0))
        address = inside("mediavault", "url", self.origin.url("film.mp4"))
        self.assertTrue(address.startswith("http://"), address)
        path = address.partition("//")[2].partition("/")[2]
        played = subprocess.run(
            ["curl", "--silent", "--fail", f"http://localhost:{port}/{path}"], capture_output=True, timeout=60)
        self.assertTrue(played.stdout == self.origin.film("film.mp4").content)
