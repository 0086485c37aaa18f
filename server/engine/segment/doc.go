// Package segment is one immutable part of an index: some items with everything by which they are found, in one run of
// bytes that is the same in memory and in a file, and is read where it lies.
//
// Documents are numbered in the default order, the newest first (item.CompareNewest), so that the first page is the lowest numbers
// and a range of created_on is a range of documents. A segment holds what an item has by itself; what manifests add to it
// lies elsewhere.
//
// # File
//
// Numbers are little-endian, varint is an unsigned varint, and offsets count from the end of the first magic, whose last byte
// is the format. Vitrine reads no other format than its own.
//
//	magic       8 bytes
//	items       the items' encoded bytes, one behind the other
//	index       sections, each found by the directory:
//	  offsets     uint64 per document and one more: where its item begins
//	  ids         int64 per document
//	  created     int64 per document: created_on in milliseconds, the least number without one
//	  by id       uint32 per document: the documents in the order of their ids
//	  unit docs   a roaring bitmap: the documents with own units; unit ends: uint32 for each of those; units: int64 each
//	  terms       for each block of terms, their postings and then the block, see dictionary.go
//	  blocks      where each block is, and its first key
//	  per field   presence (a roaring bitmap, absent when every document has the field), and a column of numbers:
//	              the values of a number or date, the number of words of a text
//	directory   what lies where, see directory.go
//	footer      where the directory is, checksums (CRC-32C) of the items and of index and directory, magic
//
// # Formats
//
// Each change of what a segment holds is another format (TestFormat). A file of another format is rebuilt from the store, property
// by property, while the other properties are served.
//
// Format 1 was the first one. Its directory was JSON.
//
// Format 2 made the directory binary, so that a segment of one item is a third as large. It kept the number of a field in two
// bytes at the beginning of each dictionary key. In a merge of segments with more than 65,535 fields in total, the numbers
// overflowed: terms were lost without an error, and the index of such a property could not be rebuilt.
//
// Format 3 keeps the number of a field in four bytes, and a build and a merge fail when a segment would have more of anything than
// the format can count. A text without a word counts as present, so that _exists_ finds it; the directory counts the documents in
// which a text has at least one word, because ranking looks at those alone.
//
// # Invariants
//
//   - Nothing of a segment is ever written to once it is made; what is built from it on first use is swapped in whole.
//   - All methods but Close are safe for concurrent use. Bitmaps that methods return are read-only, and some alias the
//     segment's memory: they end with Close. Roaring's Clone writes to its source, so that none of them may be cloned.
//   - Damaged bytes are an error of Open or Verify; reading what passed as sound never panics.
//   - A merge is, byte for byte, what a build of the same documents is.
//
// It may import item and query with its subpackages.
package segment
