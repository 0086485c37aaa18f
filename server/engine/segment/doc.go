// Package segment implements one immutable part of an index: items and the data structures by which queries find them, in one byte
// sequence. The bytes are the same in memory and in a file, and are read in place.
//
// Documents are numbered in the default order, the newest first (item.CompareNewest), so that the first page has the lowest numbers and a
// range of created_on is a range of documents. A segment holds only data of the items themselves, not the tags and units that manifests add
// to items.
//
// # File
//
// Numbers are little-endian. varint means an unsigned varint. Offsets count from the end of the first magic, whose last byte is the number
// of the format. Vitrine reads only files of its current format.
//
//	magic       8 bytes
//	items       the items, one after the other, each packed (item.Packed)
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
// Each change of the content of segments needs a new format (TestFormat). Files of another format are rebuilt from the store, one property
// after the other, while the other properties are served.
//
// Format 1 was the first format. Its directory was JSON.
//
// Format 2 made the directory binary, which reduced a segment of one item to a third of its size. Each dictionary key began with the field
// number in two bytes. If a merge of segments had more than 65,535 fields in total, the field numbers overflowed: terms were lost without
// an error, and the index of the property could not be rebuilt.
//
// Format 3 stores field numbers in four bytes. A build or a merge fails if the segment would exceed a count that the format can store. A
// text without words counts as a value, so that _exists_ finds it. The directory has the number of documents in which a text has at least
// one word, because ranking uses only those.
//
// Format 4 added skips over the frequencies and positions of words that occur in many documents. With them, a phrase of a rare and a
// frequent word does not read all positions of the frequent word.
//
// Format 5 compresses each item (decision 16). In format 4, an item was its response, which is four times as large: the names of members
// and the fillers were in every item.
//
// # Invariants
//
//   - A segment does not change after its creation. Data that is derived from it on first use is published atomically.
//   - All methods except Close are safe for concurrent use. Bitmaps that methods return are read-only. They may alias the segment's memory,
//     so they must not be used after Close. They must not be cloned, because Clone of package roaring writes to its source.
//   - Open or Verify returns an error for damaged bytes. Reading a segment that Open accepted never panics.
//   - A merge and a build of the same documents have identical bytes.
//
// It may import item and query with its subpackages.
package segment
