"""Makes packages of the binary that ./dist builds, all reproducible, into target/packages:
a wheel, npm packages, a .deb, a tarball, an .mcpb, server.json for the MCP registry, and SHA256SUMS of them."""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys

import deb
import mcpb
import npm
import registry
import tarball
import wheel
from facts import ROOT, Facts, Refused


def main():
    options = arguments()
    try:
        return package(options)
    except Refused as why:
        print("package: %s" % why, file=sys.stderr)
        return 1


def arguments():
    parser = argparse.ArgumentParser(prog="./package", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--binary", metavar="FILE", help="package this binary, and build none")
    parser.add_argument("--to", metavar="DIR", help="put the packages there")
    return parser.parse_args()


def package(options):
    # As ./dist and cargo do it, a target directory is seen from the project.
    target = os.path.join(ROOT, os.environ.get("CARGO_TARGET_DIR", "target"))
    binary = options.binary
    if binary is None:
        if subprocess.run([os.path.join(ROOT, "dist")]).returncode != 0:
            raise Refused("./dist failed")
        binary = os.path.join(target, "dist", "stead")
    facts = Facts(os.path.abspath(binary))
    made = {}
    for kind in (wheel, npm, deb, tarball, mcpb, registry):
        made.update(kind.make(facts, made))
    made["SHA256SUMS"] = sums(made)
    place = options.to or os.path.join(target, "packages")
    if options.to is None:
        # What an earlier version left here would be taken for a part of this one.
        shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place, exist_ok=True)
    for name, data in made.items():
        write(os.path.join(place, name), data)
        print("%9d  %s" % (len(data), os.path.relpath(os.path.join(place, name))))
    return 0


def sums(made):
    lines = ["%s  %s\n" % (hashlib.sha256(made[name]).hexdigest(), name) for name in sorted(made)]
    return "".join(lines).encode()


def write(path, data):
    with open(path + ".new", "wb") as file:
        file.write(data)
    os.replace(path + ".new", path)
