"""The hash tables through which a loader finds an export, DT_GNU_HASH and DT_HASH, read from the mapped file."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from abiscan.elf.dynamic import DT_GNU_HASH, DT_HASH, Dynamic
from abiscan.elf.hashing import gnu_hash, gnu_hashes, sysv_hash
from abiscan.elf.image import Image
from abiscan.errors import UnreadableFile
from abiscan.model.limits import MAX_CHAIN_STEPS

# Chains of more bytes count towards MAX_CHAIN_STEPS.
_LONG_CHAIN = 4096


class _Table:
    """Common part: the symbol table that both kinds refer to.

    Args:
        start, end: file offsets of .dynsym, and of the end of the mapping that contains it.
        entry: size of an entry in bytes.
    """

    def __init__(self, image: Image, dynamic: Dynamic, start: int, end: int, entry: int) -> None:
        self._image = image
        self._strtab, self._strtab_end = dynamic.strtab, dynamic.strtab_end
        self._symbols, self._last, self._entry = start, end - entry, entry
        self._u32 = struct.Struct(image.endian + "I").unpack_from
        self._walked = 0

    def _note_walk(self, steps: int) -> None:
        """Count steps: real chains have two or three entries, and a crafted one must not cost hours.

        Raises:
            UnreadableFile: the lookups so far took more steps than any real file needs.
        """
        self._walked += steps
        if self._walked > MAX_CHAIN_STEPS:
            raise UnreadableFile(self._image.path, "corrupt ELF file: its hash table has endless chains")


class GnuHashTable(_Table):
    """DT_GNU_HASH.

    Raises:
        UnreadableFile: the table lies outside of the file.
    """

    def __init__(self, image: Image, dynamic: Dynamic, start: int, end: int, entry: int) -> None:
        super().__init__(image, dynamic, start, end, entry)
        at, self._end = image.extent_of(dynamic.values[DT_GNU_HASH], "the GNU hash table")
        self._start = at
        nbuckets, self._symoffset, words, self._shift = image.words(at, 4, "I", "the GNU hash table")
        self._bits = 64 if image.is64 else 32
        filter_at = at + 16
        at = filter_at + words * self._bits // 8
        self._chains = at + 4 * nbuckets
        if self._chains > self._end:
            raise UnreadableFile(image.path, "corrupt ELF file: its GNU hash table ends outside of what is mapped")
        image.need(filter_at, at)
        self._buckets = image.words(at, nbuckets, "I", "the GNU hash table's buckets")
        # The filter as bytes, the lowest first.
        self._filter: Sequence[int] = memoryview(image.buffer)[filter_at:at]
        if not image.little_endian:
            import array

            swapped = array.array("Q" if image.is64 else "I", bytes(self._filter))
            swapped.byteswap()
            self._filter = memoryview(swapped).cast("B")

    @property
    def parameters(self) -> tuple[int, int, int]:
        """(words of the filter, its shift, buckets)."""
        return 8 * len(self._filter) // self._bits, self._shift, len(self._buckets)

    def find(self, name: bytes) -> list[int]:
        """Indices of all entries of this name that the table leads to, in chain order."""
        hashed = gnu_hash(name)
        return self.find_screened(name, hashed) if self.screen((hashed,), (0,)) else []

    def screen(self, hashes: Sequence[int], positions: Iterable[int]) -> list[int]:
        """`positions` whose name passes the filter; a few per cent of absent names pass too.

        Args:
            hashes: `gnu_hash` of each name.
            positions: indices into `hashes`.
        """
        shift, data, low = self._shift, self._filter, self._bits - 1
        room = 8 * len(data)
        if not data or not self._buckets:
            return []
        # Bit h % bits of word h / bits is bit h of all words together, and so a bit of byte h / 8. An absent name takes
        # 0.12 us this way; with words, which are integers of more than one digit in Python, 0.19.
        return [
            i
            for i in positions
            if data[(bit := (h := hashes[i]) % room) >> 3] >> (bit & 7) & 1
            and data[(bit := bit & ~low | h >> shift & low) >> 3] >> (bit & 7) & 1
        ]

    def find_screened(self, name: bytes, hashed: int) -> list[int]:
        """As `find`, for a name that has passed `screen`.

        Args:
            hashed: `gnu_hash(name)`.

        Raises:
            UnreadableFile: a chain leaves the mapping, or chains are endless.
        """
        buckets = self._buckets
        index = buckets[hashed % len(buckets)]
        if not index:
            return []
        found = []
        buffer, size = self._image.buffer, self._end
        unpack, entry = self._u32, self._entry
        wanted = name + b"\0"
        # The loader counts from where the chain of symbol 0 would be, which may precede the table.
        at = self._chains + 4 * (index - self._symoffset)
        first = at
        # st_name is the first field of an entry in either class.
        symbol, last = self._symbols + index * entry, self._last
        while self._start <= at and at + 4 <= size and symbol <= last:
            (chain,) = unpack(buffer, at)
            if (chain ^ hashed) >> 1 == 0:
                string = self._strtab + unpack(buffer, symbol)[0]
                if buffer[string : min(string + len(wanted), self._strtab_end)] == wanted:
                    found.append((symbol - self._symbols) // entry)
            if chain & 1:
                break
            symbol += entry
            at += 4
        else:
            raise UnreadableFile(self._image.path, "corrupt ELF file: its GNU hash table leaves its mapping")
        if at - first > _LONG_CHAIN:
            self._note_walk((at - first) // 4)
        return found

    def unreached(self, indices: Sequence[int], names: Sequence[bytes]) -> set[int]:
        """Entries that a lookup of their own name does not find: the table does not lead to them.

        Args:
            names: name of each entry.
        """
        buckets, symoffset = self._buckets, self._symoffset
        if not buckets:
            return set(indices)
        start, count = self._start, len(buckets)
        # Position of the chain word of symbol 0, which may precede the table.
        zero = (self._chains - start) // 4 - symoffset
        room = min((self._end - start) // 4, max(0, zero + max(indices, default=-1) + 1))
        chain = self._image.words(start, room, "I", "the GNU hash table")
        hashes = gnu_hashes(names)
        # Bucket -> symbol up to which its chain continues: each chain is followed once for all entries.
        reached: dict[int, int] = {}

        def leads(at: int, index: int) -> bool:
            met = reached.get(at, at)
            while met < index and not chain[zero + met] & 1:
                met += 1
            reached[at] = max(met, reached.get(at, at))
            return met >= index

        first, stop = max(1, -zero), room - zero
        return set(indices).difference(
            [
                index
                for i in self.screen(hashes, range(len(hashes)))
                if first <= (at := buckets[(hashed := hashes[i]) % count]) <= (index := indices[i]) < stop
                and chain[zero + index] ^ hashed < 2
                and (at == index or leads(at, index))
            ]
        )

    def count_entries(self) -> tuple[int, bool]:
        """Minimum number of entries of the symbol table, and whether that is all. Without exports this table does not
        have the number of entries."""
        last = max(self._buckets, default=0)
        if last < self._symoffset:
            return self._symoffset, False
        at = self._chains + 4 * (last - self._symoffset)
        while at + 4 <= self._end:
            last += 1
            if self._u32(self._image.buffer, at)[0] & 1:
                break
            at += 4
        return last, True


class SysvHashTable(_Table):
    """DT_HASH, with the methods of `GnuHashTable`.

    Raises:
        UnreadableFile: the table lies outside of the file.
    """

    def __init__(self, image: Image, dynamic: Dynamic, start: int, end: int, entry: int) -> None:
        super().__init__(image, dynamic, start, end, entry)
        at, limit = image.extent_of(dynamic.values[DT_HASH], "the hash table")
        nbucket, nchain = image.words(at, 2, "I", "the hash table")
        if at + 8 + 4 * (nbucket + nchain) > limit:
            raise UnreadableFile(image.path, "corrupt ELF file: its hash table ends outside of what is mapped")
        self._buckets = image.words(at + 8, nbucket, "I", "the hash table's buckets")
        self._chains = image.words(at + 8 + 4 * nbucket, nchain, "I", "the hash table's chains")

    def find(self, name: bytes) -> list[int]:
        """Indices of all entries of this name that the table leads to, in chain order.

        Raises:
            UnreadableFile: a chain leaves a table, or chains are endless.
        """
        buckets, chains, image = self._buckets, self._chains, self._image
        if not buckets:
            return []
        found = []
        wanted = name + b"\0"
        index = buckets[sysv_hash(name) % len(buckets)]
        steps = 0
        while index:
            # A cycle in a damaged chain must end: no chain is longer than the table.
            if index >= len(chains) or steps > len(chains):
                raise UnreadableFile(image.path, "corrupt ELF file: its hash table has endless chains")
            symbol = self._symbols + index * self._entry
            if symbol > self._last:
                raise UnreadableFile(image.path, f"corrupt ELF file: symbol {index} is outside of its symbol table")
            string = self._strtab + self._u32(image.buffer, symbol)[0]
            if image.buffer[string : min(string + len(wanted), self._strtab_end)] == wanted:
                found.append(index)
            index = chains[index]
            steps += 1
        if steps > _LONG_CHAIN:
            self._note_walk(steps)
        return found

    def find_screened(self, name: bytes, hashed: int) -> list[int]:
        """As `find`: this table does not use `gnu_hash`."""
        return self.find(name)

    def screen(self, hashes: Sequence[int], positions: Iterable[int]) -> list[int]:
        """All of `positions`: this table has no filter."""
        return list(positions)

    def unreached(self, indices: Sequence[int], names: Sequence[bytes]) -> set[int]:
        """As `GnuHashTable.unreached`."""
        return {index for index, name in zip(indices, names, strict=True) if index not in self.find(name)}

    def count_entries(self) -> tuple[int, bool]:
        """As `GnuHashTable.count_entries`: there is a chain word for each entry."""
        return len(self._chains), True


HashTable = GnuHashTable | SysvHashTable


def read_hash_table(image: Image, dynamic: Dynamic, start: int, end: int, entry: int) -> HashTable | None:
    """Read the table that glibc uses: DT_GNU_HASH if present, even without buckets (_dl_setup_hash), otherwise DT_HASH.
    None if the file has neither: then no lookup finds anything.

    Args:
        start, end: file offsets of .dynsym, and of the end of the mapping that contains it.
        entry: size of an entry in bytes.

    Raises:
        UnreadableFile: the table lies outside of the file.
    """
    if DT_GNU_HASH in dynamic.values:
        return GnuHashTable(image, dynamic, start, end, entry)
    return SysvHashTable(image, dynamic, start, end, entry) if DT_HASH in dynamic.values else None
