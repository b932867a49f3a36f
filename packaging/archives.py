"""Archives whose bytes depend on nothing but what is put in: no clock, no user, no order of a directory."""

import io
import lzma
import struct
import time
import zipfile
import zlib

# Files of a tar archive begin and end at a multiple of this.
BLOCK = 512


class Entry:
    """A file of an archive."""

    def __init__(self, path, data, mode=0o644):
        self.path = path
        self.data = data if isinstance(data, bytes) else data.encode()
        self.mode = mode


def tar(entries, moment, directories=False):
    """A tar file; with `directories`, each one that is needed has an entry of its own.

    Not by Python's `tarfile`, whose headers differ from version to version.
    """
    made, known = b"", set()
    for entry in sorted(entries, key=lambda one: one.path):
        for parent in parents(entry.path) if directories else ():
            if parent not in known:
                known.add(parent)
                made += header(parent + "/", 0, 0o755, moment, b"5")
        made += header(entry.path, len(entry.data), entry.mode, moment, b"0")
        made += entry.data + bytes(-len(entry.data) % BLOCK)
    return made + bytes(2 * BLOCK)


def parents(path):
    """The directories above a path, outermost first."""
    steps = path.split("/")[:-1]
    return ["/".join(steps[: n + 1]) for n in range(len(steps)) if steps[n] != "."]


def header(path, size, mode, moment, kind):
    """The block before a file: numbers are octal, and the sum is over a block in which it is blank."""
    name = path.encode()
    if len(name) > 100:
        raise ValueError("`%s` is too long a path for a tar file" % path)
    numbers = [b"%07o\0" % number for number in (mode, 0, 0)] + [b"%011o\0" % number for number in (size, moment)]
    owner = struct.pack("32s32s8s8s167x", b"root", b"root", b"0000000", b"0000000")
    before, after = struct.pack("100s", name) + b"".join(numbers), kind + bytes(100) + b"ustar\x0000" + owner
    total = sum(before) + sum(after) + 8 * ord(" ")
    return before + b"%06o\0 " % total + after


def gz(data, moment):
    """Not by Python's `gzip`, which cuts what it compresses into pieces that differ from version to version."""
    deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    head = struct.pack("<4BL2B", 0x1F, 0x8B, 8, 0, moment, 0, 255)
    return head + deflate.compress(data) + deflate.flush() + struct.pack("<2L", zlib.crc32(data), len(data))


def xz(data):
    return lzma.compress(data, preset=6)


def zipped(entries, moment):
    """A zip file in the order that is given: installers look for some files at the end."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.path, time.gmtime(moment)[:6])
            info.create_system = 3  # Unix, whose modes follow.
            info.external_attr = (0o100000 | entry.mode) << 16
            archive.writestr(info, entry.data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def ar(members, moment):
    """The archive around the parts of a .deb: (name, bytes) pairs."""
    made = b"!<arch>\n"
    for name, data in members:
        made += b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (name.encode(), moment, 0, 0, b"100644", len(data))
        made += data + b"\n" * (len(data) % 2)
    return made
