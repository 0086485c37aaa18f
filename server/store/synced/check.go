package synced

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
)

// DamageError means that data that had been synced is missing from a file of a database.
type DamageError struct {
	// Dir is the directory of the database, and File the name of the file in it.
	Dir, File string
	// Offset is the place from which on the file cannot be read. For the ledger, it is a number that identifies the damage instead. Bytes is
	// the number of bytes behind it that had been synced, or 0 if it is unknown.
	Offset, Bytes int64
	// Batches is the number of batches that can still be found behind the damaged place. A batch contains one or more acknowledged writes.
	Batches int
	// Err, if not nil, says why the whole file cannot be read.
	Err error
	// acceptable is true if the database can be opened without the data behind Offset.
	acceptable bool
}

// Loss returns the name of the loss, with which a user accepts it: the file and the offset. It is "" if the database cannot be opened
// without the data.
func (e *DamageError) Loss() string {
	if !e.acceptable {
		return ""
	}
	return fmt.Sprintf("%s@%d", e.File, e.Offset)
}

func (e *DamageError) Error() string {
	text := fmt.Sprintf("%s is damaged at byte %d: %d bytes that had been synced cannot be read", e.File, e.Offset, e.Bytes)
	switch {
	case e.Err != nil:
		text = fmt.Sprintf("%s: %v", e.File, e.Err)
	case e.Batches > 0:
		text += fmt.Sprintf(", among them at least %d batches of acknowledged writes", e.Batches)
	}
	return text
}

// Tail is the end of a log that a crash has torn.
type Tail struct {
	File          string
	Offset, Bytes int64
}

// Missing returns the error for a database that has lost its ledger. batch is the number of the newest batch in the database.
func Missing(dir string, batch uint64) *DamageError {
	return &DamageError{Dir: dir, File: Name, Offset: int64(batch), acceptable: true, Err: errors.New("the file is missing, so it is unknown whether other files are complete")}
}

// RolledBack returns the error for a database that ends with a batch before the newest acknowledged one, although its files are intact:
// another process has replaced them with an older copy.
func RolledBack(dir string, batch, acknowledged uint64) *DamageError {
	return &DamageError{Dir: dir, File: Name, Offset: int64(acknowledged), acceptable: true, Err: fmt.Errorf(
		"batch %d was acknowledged, but the database ends with batch %d, as if its other files were an older copy", acknowledged, batch)}
}

// Found describes a database that has no known damage.
type Found struct {
	// Ledger is true if the database has a ledger.
	Ledger bool
	// Version is the number of the newest batch that the ledger knows to be acknowledged, or 0.
	Version uint64
	// Torn are the torn ends of files. The writes in them were not acknowledged, so Pebble ignores them.
	Torn []Tail
}

// Check compares the files of the database in dir with its ledger. It returns a *DamageError if data is missing that had been synced. It
// changes no file, and reads the MANIFEST and the logs completely.
func Check(disk vfs.FS, dir string) (Found, error) {
	ledger, err := readLedger(disk, dir)
	if err != nil {
		return Found{}, err
	}
	c, err := check(disk, dir, ledger)
	return c.found, err
}

func check(disk vfs.FS, dir string, ledger state) (checker, error) {
	c := checker{disk: disk, dir: dir, found: Found{Ledger: ledger.write > 0, Version: ledger.version}}
	names, err := disk.List(dir)
	if err != nil {
		return c, fmt.Errorf("list the files of the database: %w", err)
	}
	manifest, err := atomicfs.ReadMarker(disk, dir, "manifest")
	if err != nil {
		return c, fmt.Errorf("read which MANIFEST is the current one: %w", err)
	}
	if k, number := parseName(manifest); k == aManifest {
		if number < ledger.current {
			return c, &DamageError{Dir: dir, File: manifest, Err: fmt.Errorf("MANIFEST-%06d is newer, but the marker file does not name it", ledger.current)}
		}
		if err := c.checkFile(manifest, k, number, lengthOf(ledger.manifests[:], number)); err != nil {
			return c, err
		}
	}
	logs := logsAmong(names)
	for _, f := range ledger.logs {
		// Pebble removes a log only after a record of the MANIFEST says that it needs only newer ones.
		if f.number > 0 && f.number >= c.oldestLog && !slices.Contains(logs, f.number) {
			newest := len(logs) == 0 || logs[len(logs)-1] < f.number
			return c, &DamageError{Dir: dir, File: logName(f.number), Err: errors.New("the file is missing"), acceptable: newest}
		}
	}
	for i, number := range logs {
		err := c.checkFile(logName(number), aLog, number, lengthOf(ledger.logs[:], number))
		if damage, ok := errors.AsType[*DamageError](err); ok {
			// The writes in a newer log may depend on those that are missing.
			damage.acceptable = !slices.ContainsFunc(logs[i+1:], func(n uint64) bool { return lengthOf(ledger.logs[:], n) > 0 })
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// oldestLog returns the number of the oldest log that a record of a MANIFEST says is needed, or 0 if the record does not say it. b is the
// beginning of the record: pairs of a tag and a value. The log number can only follow the name of the comparer.
func oldestLog(b []byte) uint64 {
	const comparer, logNumber = 1, 2
	for {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return 0
		}
		value, m := binary.Uvarint(b[n:])
		switch {
		case m <= 0:
			return 0
		case tag == logNumber:
			return value
		case tag != comparer || value > uint64(len(b)-n-m):
			return 0
		}
		b = b[n+m+int(value):]
	}
}

func logName(number uint64) string { return fmt.Sprintf("%06d.log", number) }

type checker struct {
	disk  vfs.FS
	dir   string
	found Found
	// oldestLog is the number of the oldest log that the current MANIFEST needs.
	oldestLog uint64
	// whole contains the lengths of the readable parts of the files.
	whole state
}

// logsAmong returns the numbers of the logs among the files with these names, in ascending order.
func logsAmong(names []string) (numbers []uint64) {
	for _, name := range names {
		if k, n := parseName(name); k == aLog {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// checkFile checks one file, of which the first synced bytes are known to have been synced.
func (c *checker) checkFile(name string, k kind, number, synced uint64) error {
	f, err := c.disk.Open(c.disk.PathJoin(c.dir, name))
	if err != nil {
		return fmt.Errorf("open a file of the database: %w", err)
	}
	chunksOf := number
	if k == aManifest {
		chunksOf = 0
	}
	e, err := measure(f, chunksOf, func(b []byte) {
		if n := oldestLog(b); k == aManifest && n > 0 {
			c.oldestLog = n
		}
	})
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if known := max(int64(synced), min(e.behind.synced, e.end+e.rest)); known > e.end {
		return &DamageError{Dir: c.dir, File: name, Offset: e.end, Bytes: max(known-e.end, e.rest), Batches: e.behind.batches}
	}
	if e.rest > 0 {
		c.found.Torn = append(c.found.Torn, Tail{File: name, Offset: e.end, Bytes: e.rest})
	}
	c.whole.grow(k, file{number, uint64(e.end)})
	return nil
}
