// Package item is the content item: its types, how it is read from request bodies and import lines, how it is written
// to responses, exports and the store, and which values of it can be searched.
//
// Three forms of an item meet here:
//
//   - Item, what was given and nothing else. A zero member means that the item has none.
//   - The line (Marshal, ParseLine, Unmarshal): the item shape of the specification without fillers, plus the members
//     tags, claimed and short_code. Exports, imports and stores use it; ParseLine(Marshal(x)) is x.
//   - The response (Encode): the item shape with every member that the specification requires, cut at slots where what
//     other objects own is put in on reading, and with its private part in a span of its own.
//
// Invariants. A public reading never holds the member submission, and Append needs no allocation of its own. What comes
// out of ParseAdd, ParseLine and Patch.Apply is in normal form: strings are valid UTF-8, timestamps are UTC, tags are
// sorted and unique, units unique, objects without any value nil, raw JSON compact with sorted members. Fillers stand in
// Encode's output alone and are never seen by Values.
//
// JSON strings are written with `<`, `>`, U+2028 and U+2029 escaped, so that an answer can stand inside a script element
// of a page; `&` is left alone, because it cannot end one and fills every other URL. Invalid UTF-8 becomes U+FFFD.
//
// It may import query.
package item
