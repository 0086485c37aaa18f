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
//	items       the items one after the other, each an item.Packed, whose format has a number of its own, and its checksum (CRC-32C)
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
// Each change of the content of segments needs a new format (TestFormat). The engine rebuilds files of another format from the store, one
// property after the other. Meanwhile, the server serves the other properties.
//
// Format 1 was the first format. Its directory was JSON.
//
// Format 2 made the directory binary. This reduced a segment of one item to a third of its size. Each dictionary key began with the field
// number in two bytes. If a merge of segments had more than 65,535 fields in total, the field numbers overflowed. Terms were then lost
// without an error, and the index of the property could not be rebuilt.
//
// Format 3 stores field numbers in four bytes. A build or a merge fails if the segment would exceed a count that the format can store. A
// text without words counts as a value, so that _exists_ finds it. For each text field, the directory has the number of documents whose
// text has at least one word, because ranking uses only those documents.
//
// Format 4 added skips over the frequencies and positions of words that occur in many documents. A query for a phrase of a rare word and
// a frequent word then does not read all positions of the frequent word.
//
// Format 5 compresses each item (decision 16). In format 4, each item was stored as its response, including the names of members and the
// fillers of missing values. This took four times as much space as format 5.
//
// Format 6 stores less per document: columns with a scale or a table, one column for the IDs and one for created_on, keys without the bytes
// with which all keys of a block end, and frequencies only for words that occur more than once in a document. Frequent words have an
// outline, which earlier versions computed from all documents of the word when they first ranked it (decision 17).
//
// Format 7 adds a checksum to each item. A damaged bit in an item could otherwise be served until Verify found it.
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
