package synced

import (
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
	// Offset is the place from which on the file cannot be read. Bytes is the number of bytes behind it that had been synced.
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
		text = fmt.Sprintf("%s is damaged: %v", e.File, e.Err)
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

// Found describes a database that has no known damage.
type Found struct {
	// Version is the number of the newest batch that the ledger knows to be acknowledged, or 0.
	Version uint64
	// Torn are the torn ends of files. The writes in them were not acknowledged, so Pebble ignores them.
	Torn []Tail
}

// Check compares the files of the database in dir with its ledger. It returns a *DamageError if data is missing that had been synced. It
// changes no file, and reads the MANIFEST and the logs completely.
func Check(disk vfs.FS, dir string) (Found, error) {
	c, err := check(disk, dir)
	return c.found, err
}

func check(disk vfs.FS, dir string) (checker, error) {
	c := checker{disk: disk, dir: dir}
	names, err := disk.List(dir)
	if err != nil {
		return c, fmt.Errorf("list the files of the database: %w", err)
	}
	ledger, err := readLedger(disk, dir)
	if errors.Is(err, errDamagedLedger) {
		return c, &DamageError{Dir: dir, File: Name, Err: err, acceptable: true}
	} else if err != nil {
		return c, fmt.Errorf("read %s: %w", Name, err)
	}
	c.found.Version = ledger.version
	manifest, err := atomicfs.ReadMarker(disk, dir, "manifest")
	if err != nil {
		return c, fmt.Errorf("read which MANIFEST is the current one: %w", err)
	}
	if k, number := parseName(manifest); k == aManifest {
		if err := c.checkFile(manifest, k, number, ledger.manifest(number)); err != nil {
			return c, err
		}
	}
	logs := logsAmong(names)
	for i, number := range logs {
		length := uint64(0)
		if number == ledger.log.number {
			length = ledger.log.length
		}
		err := c.checkFile(logName(number), aLog, number, length)
		if damage, ok := errors.AsType[*DamageError](err); ok {
			damage.acceptable = i == len(logs)-1 // the writes in a newer log may depend on those that are missing
		}
		if err != nil {
			return c, err
		}
	}
	// Pebble removes a log only after it has begun another one.
	if ledger.log.number > 0 && (len(logs) == 0 || logs[len(logs)-1] < ledger.log.number) {
		return c, &DamageError{Dir: dir, File: logName(ledger.log.number), Err: errors.New("the file is missing")}
	}
	return c, nil
}

func logName(number uint64) string { return fmt.Sprintf("%06d.log", number) }

type checker struct {
	disk  vfs.FS
	dir   string
	found Found
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
	e, err := measure(f, chunksOf)
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
