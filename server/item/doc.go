// Package item defines the content item: its types, how it is parsed from request bodies and import lines, how it is encoded for responses,
// exports and the store, and which of its values are indexed.
//
// An item has four forms:
//
//   - Item holds the values that were given and nothing else. A zero member means that the item has no value for it.
//   - The line (Marshal, ParseLine, Unmarshal) is the item shape of the specification without fillers, plus the members
//     tags, claimed and short_code. Exports and imports use it, and ParseLine(Marshal(x)) is x.
//   - Encoded (Encode) is the compact form that libraries store, and Decode(Encode(x)) is x. Packed is its compressed form.
//   - The response (Encoded.Append) is the item shape with every member that the specification requires. Append builds it from the
//     compact form, and inserts data of other objects.
//
// All forms derive from the table itemMembers: the names and the order of members, the values that they accept, where they are in an
// Encoded, what a response shows if they have no value, and whether a patch can change them. Only tags and units have code of their own.
//
// Invariants. The public form never contains the member "submission", and Append does not allocate. The results of ParseAdd, ParseLine and
// Patch.Apply are in normal form: strings are valid UTF-8, timestamps are in UTC, tags are sorted and unique, units are unique, objects
// without any value are nil, and raw JSON is compact with sorted members. Only responses contain fillers, and Values never yields them.
//
// JSON strings escape `<`, `>`, U+2028 and U+2029, so that a page can embed a response in a script element. They do not
// escape `&`, which cannot end a script element and occurs in most URLs. Invalid UTF-8 becomes U+FFFD.
//
// This package may import query and klauspost/compress/s2.
package item
