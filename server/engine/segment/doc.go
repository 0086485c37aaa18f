// Package segment implements one immutable part of an index: items, and everything by which queries find them, in one run of bytes.
// The bytes are the same in memory and in a file, and are read in place.
//
// Documents are numbered in the default order, the newest first (item.CompareNewest), so that the first page has the lowest numbers
// and a range of created_on is a range of documents. A segment holds the data of the item itself. What manifests add to items is
// kept elsewhere.
//
// # File
//
// Numbers are little-endian. varint is an unsigned varint. Offsets count from the end of the first magic, whose last byte is the
// format. Vitrine reads only its own format.
//
//	magic       8 bytes
//	items       the encoded bytes of the items, one after the other
//	index       sections, each found by the directory:
//	  offsets     uint64 per document and one more: where its item begins
//	  ids         int64 per document
//	  created     int64 per document: created_on in milliseconds, math.MinInt64 without one
//	  by id       uint32 per document: the documents in the order of their ids
//	  unit docs   a roaring bitmap: the documents with own units; unit ends: uint32 for each of those; units: int64 each
//	  terms       for each block of terms, their postings and then the block, see dictionary.go
//	  blocks      where each block is, and its first key
//	  per field   presence (a roaring bitmap, absent when every document has the field), and a column of numbers:
//	              the values of a number or date, the number of words of a text
//	directory   the places of the sections, see directory.go
//	footer      where the directory is, checksums (CRC-32C) of the items and of index and directory, magic
//
// # Formats
//
// Each change of what segments contain makes a new format (TestFormat). A file of another format is rebuilt from the store, property by
// property, while the other properties are served.
//
// Format 1 was the first one. Its directory was JSON.
//
// Format 2 made the directory binary, so that a segment of one item is a third as large. It kept the number of a field in two
// bytes at the beginning of each dictionary key. In a merge of segments with more than 65,535 fields in total, the numbers
// overflowed: terms were lost without an error, and the index of such a property could not be rebuilt.
//
// Format 3 keeps the number of a field in four bytes. A build or a merge fails if the segment would exceed a count that the format
// can store. A text without a word counts as present, so that _exists_ finds it. The directory counts the documents in which a text
// has at least one word, because ranking uses only those.
//
// Format 4 has skips over the frequencies and positions of words in many documents. A phrase of a rare and a frequent word no longer
// reads all positions of the frequent one.
//
// # Invariants
//
//   - A segment is never written to after it is created. Data that is built from it on first use is published atomically.
//   - All methods except Close are safe for concurrent use. Bitmaps that methods return are read-only. Some alias the segment's
//     memory, so none may be used after Close. None may be cloned, because Roaring's Clone writes to its source.
//   - Open or Verify returns an error for damaged bytes. Reading bytes that passed these checks never panics.
//   - A merge and a build of the same documents are identical, byte for byte.
//
// It may import item and query with its subpackages.
package segment
