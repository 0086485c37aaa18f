// Package segment implements one immutable part of an index. A segment is one byte sequence that contains items and the data structures
// with which queries find them. The bytes are the same in memory and in a file, and are read in place.
//
// Documents are numbered in the default order, the newest first (item.CompareNewest). The first page therefore has the lowest numbers,
// and a range of created_on is a range of documents. A segment holds only data of the items themselves. It does not hold the tags and
// units that manifests add to items.
//
// # File
//
// Numbers are little-endian, and a varint is an unsigned varint. Offsets count from the end of the first magic. The last byte of the
// magic is the number of the format. Vitrine reads only files of its current format.
//
//	magic       8 bytes
//	items       the items one after the other, each an item.Packed (see item.Format), and its checksum (CRC-32C)
//	index       the following sections; the directory has their places:
//	  offsets     a column with a number for each document: where its item begins; then a number: where the last item ends
//	  ids         a column with a number for each document
//	  created     a column with a number for each document that has created_on, in milliseconds; these documents come first
//	  by id       a uint32 for each document: the documents in the order of their ids
//	  unit docs   a roaring bitmap of the documents that have own units
//	  unit ends   a uint32 for each document in unit docs: the end of its units in the section units
//	  units       an int64 for each own unit of these documents
//	  terms       for each block of terms: the postings of its terms, then the block (see dictionary.go)
//	  blocks      the offset and the first key of each block
//	  per field   the presence (a roaring bitmap, absent if every document has a value), and a column of numbers:
//	              the values of a number or date field, or the numbers of words of a text field (see column in directory.go); the columns
//	              of the fields id and created_on are usually those of the sections ids and created
//	directory   the places of the sections (see directory.go)
//	footer      the place of the directory, the checksums (CRC-32C) of the items and of index and directory, and the magic
//
// # Formats
//
// Each change of the content of segments needs a new format (TestFormat). A new item.Format is one. The engine rebuilds files of another
// format from the store, one property after the other. Meanwhile, the server serves the other properties.
//
// Format 1 is the format of version 0.1.0. Decisions 16 and 17 and the file layouts in this package say why it looks as it does.
//
// # Invariants
//
//   - A segment does not change after its creation. Data that is derived from a segment on first use is published atomically.
//   - All methods except Close are safe for concurrent use. Bitmaps that methods return are read-only. They may alias the segment's memory,
//     so do not use them after Close. Do not clone them either, because Clone of package roaring writes to its source.
//   - Open or Verify returns an error for damaged bytes, and Item returns no damaged item. Reading a segment that Open accepted never
//     panics.
//   - A merge and a build of the same documents give identical bytes.
//
// The package may import item, and query with its subpackages.
package segment
