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

// Accept cuts the damaged log of the database at the damaged place, so that Pebble opens the database without what is behind it. It keeps
// the damaged files under other names. Loss must not be "".
func Accept(disk vfs.FS, damage *DamageError) error {
	if damage.Loss() == "" {
		return damage
	}
	err := cut(disk, damage)
	// Move the ledger away last: as long as it exists, Check finds the damage again if the process ends here.
	if err == nil {
		ledger := disk.PathJoin(damage.Dir, Name)
		err = disk.Rename(ledger, ledger+damagedSuffix)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = syncDir(disk, damage.Dir)
	}
	if err != nil {
		return fmt.Errorf("accept the loss of %s: %w", damage.Loss(), err)
	}
	return nil
}

// cut replaces a log with its readable beginning.
func cut(disk vfs.FS, damage *DamageError) error {
	if k, _ := parseName(damage.File); k != aLog {
		return nil
	}
	name := disk.PathJoin(damage.Dir, damage.File)
	if err := disk.Link(name, name+damagedSuffix); errors.Is(err, fs.ErrNotExist) {
		return nil // the log is missing
	} else if err != nil && !errors.Is(err, fs.ErrExist) {
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

// Seal creates the ledger of a complete database that no process uses, such as one that was just restored from a backup. From then on,
// Check detects damage anywhere in its MANIFEST and its logs. Seal fails with a *DamageError if it finds damage.
func Seal(disk vfs.FS, dir string) error {
	c, err := check(disk, dir)
	if err != nil {
		return err
	}
	return create(disk, dir, &c.whole)
}
