// Package synced detects whether a Pebble database has lost data that was on the disk.
//
// Pebble ends reading a MANIFEST or the newest log at the first record that it cannot read, without an error, because the end of a file
// looks like this after a crash. One wrong bit in the middle of such a file has the same effect: Pebble opens the database without the
// rest, and removes the tables that it then does not know. This package therefore keeps a Ledger in the directory of the database, which
// records how much of these files has been synced. Check compares the files with the ledger before Pebble opens the database.
//
// # Invariants
//
// - The ledger never claims more than what is on the disk: a file is synced first, and recorded then. - The ledger is written with each
// sync, and synced itself at least once a second and when the database is closed. After the process was killed, the ledger is therefore
// exact. After a power failure, it may be up to a second old. - A file may be longer than the ledger says. What follows is the tail that a
// crash has torn, unless the file itself proves that it was synced: Pebble records in each chunk of a log how much of the log was synced
// before. - Check changes no file.
//
// # The ledger
//
// The file SYNCED contains two slots, in different sectors. Each write replaces the older slot, so that an interrupted write destroys only
// this one. A slot contains, in little-endian order: 8 bytes of magic, the number of the write, the number of the newest batch, the number
// of the current MANIFEST, the numbers and the lengths of the two newest MANIFESTs and of the four newest logs (8 bytes each), and a
// CRC-32C of these bytes.
//
// A database without a ledger, such as a copy, is checked too, but a wrong bit in the last record of a file is then taken for a torn tail.
//
// This package may import nothing from this project.
package synced
