package synced

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// damagedSuffix is the suffix of the name under which Accept keeps a damaged log.
const damagedSuffix = ".damaged"

// Accept cuts the damaged log of the database at the damaged place, so that Pebble opens the database without what is behind it, and
// replaces the ledger with one that fits the database. It keeps the damaged files under other names. Loss must not be "".
func Accept(disk vfs.FS, damage *DamageError) error {
	if damage.Loss() == "" {
		return damage
	}
	err := cut(disk, damage)
	// Replace the ledger last: until then, Check finds the damage again if the process ends.
	if err == nil {
		_, err = keep(disk, disk.PathJoin(damage.Dir, Name))
	}
	var c checker
	if err == nil {
		c, err = check(disk, damage.Dir, state{})
	}
	if err == nil {
		err = create(disk, damage.Dir, &c.whole)
	}
	if err != nil {
		return fmt.Errorf("accept the loss of %s: %w", damage.Loss(), err)
	}
	return nil
}

// keep gives a damaged file a second name, under which it remains when the file is replaced. It returns false if there is no such file.
func keep(disk vfs.FS, name string) (bool, error) {
	err := disk.Link(name, name+damagedSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil // an earlier call has kept the file
	}
	return err == nil, err
}

// cut replaces a log with its readable beginning.
func cut(disk vfs.FS, damage *DamageError) error {
	if k, _ := parseName(damage.File); k != aLog {
		return nil
	}
	name := disk.PathJoin(damage.Dir, damage.File)
	if exists, err := keep(disk, name); !exists {
		return err
	}
	temporary := name + ".new"
	from, err := disk.Open(name)
	if err != nil {
		return err
	}
	to, err := disk.Create(temporary, vfs.WriteCategoryUnspecified)
	if err != nil {
		return errors.Join(err, from.Close())
	}
	_, err = io.CopyN(to, from, damage.Offset)
	if err == nil {
		err = to.Sync()
	}
	if err := errors.Join(err, to.Close(), from.Close()); err != nil {
		return err
	}
	return disk.Rename(temporary, name)
}

// Seal creates the ledger of a complete database that no process uses, such as a new copy. From then on, Check detects damage anywhere in
// its MANIFEST and its logs. Seal fails with a *DamageError if it finds damage.
func Seal(disk vfs.FS, dir string) error {
	ledger, err := readLedger(disk, dir)
	if err != nil {
		return err
	}
	c, err := check(disk, dir, ledger)
	if err != nil {
		return err
	}
	return create(disk, dir, &c.whole)
}
