package synced

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// Name is the name of the ledger in the directory of the database.
	Name = "SYNCED"
	// magic identifies a slot, and the version of its format.
	magic = "vitrsyn1"
	// slotDistance is the distance between the two slots, so that no sector contains both.
	slotDistance = 4096
	slotSize     = 8 * (1 + 3 + 2*2 + 2*4)
	// syncEvery is the maximum time until a change of the ledger is synced.
	syncEvery = time.Second
)

// file is a file of the database, by its number, and its length that was synced. The number 0 means that there is none.
type file struct{ number, length uint64 }

// state is the content of a slot.
type state struct {
	// write is the number of the write that wrote the slot.
	write uint64
	// version is the number of the newest batch of the store that was acknowledged.
	version uint64
	// current is the number of the MANIFEST that the marker file names.
	current uint64
	// manifests are the newest ones, newest first: a MANIFEST is synced before Pebble makes it the current one.
	manifests [2]file
	// logs are the newest ones, newest first. Pebble needs up to four of them: three for writes that are being flushed, and the one that it
	// writes.
	logs [4]file
}

// grow records the synced length of a file.
func (s *state) grow(kind kind, f file) {
	if kind == aLog {
		grow(s.logs[:], f)
	} else {
		grow(s.manifests[:], f)
	}
}

// grow replaces the entry of a file, or inserts an entry and drops the oldest one. files are sorted by number, newest first.
func grow(files []file, f file) {
	for i := range files {
		switch {
		case f.number == files[i].number:
			files[i] = f
			return
		case f.number > files[i].number:
			copy(files[i+1:], files[i:])
			files[i] = f
			return
		}
	}
}

// lengthOf returns the synced length of a file, or 0 if files does not contain it.
func lengthOf(files []file, number uint64) uint64 {
	for _, f := range files {
		if f.number == number {
			return f.length
		}
	}
	return 0
}

func (s *state) numbers() []*uint64 {
	out := []*uint64{&s.write, &s.version, &s.current}
	for i := range s.manifests {
		out = append(out, &s.manifests[i].number, &s.manifests[i].length)
	}
	for i := range s.logs {
		out = append(out, &s.logs[i].number, &s.logs[i].length)
	}
	return out
}

func (s *state) encode() []byte {
	b := append(make([]byte, 0, slotSize+4), magic...)
	for _, n := range s.numbers() {
		b = binary.LittleEndian.AppendUint64(b, *n)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func decodeSlot(b []byte) (s state, ok bool) {
	if len(b) < slotSize+4 || string(b[:len(magic)]) != magic || binary.LittleEndian.Uint32(b[slotSize:]) != crc32.Checksum(b[:slotSize], castagnoli) {
		return state{}, false
	}
	for i, n := range s.numbers() {
		*n = binary.LittleEndian.Uint64(b[len(magic)+8*i:])
	}
	return s, true
}

// readLedger reads the newest intact slot. If there is no ledger, it returns a state whose write is 0. If no slot is intact, it fails with a
// *DamageError, whose offset is derived from a checksum of the file and is never 0.
func readLedger(disk vfs.FS, dir string) (s state, err error) {
	f, err := disk.Open(disk.PathJoin(dir, Name))
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil
	}
	var b []byte
	if err == nil {
		b, err = io.ReadAll(io.LimitReader(f, 2*slotDistance))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return state{}, fmt.Errorf("read %s: %w", Name, err)
	}
	for at := 0; at < len(b); at += slotDistance {
		if slot, ok := decodeSlot(b[at:]); ok && slot.write > s.write {
			s = slot
		}
	}
	if s.write == 0 {
		return state{}, &DamageError{Dir: dir, File: Name, Offset: 1 + int64(crc32.ChecksumIEEE(b)), acceptable: true,
			Err: errors.New("both copies of the record are damaged, so it is unknown whether other files are complete")}
	}
	return s, nil
}

// Ledger records how much of a database has been synced. All methods are safe for concurrent use.
type Ledger struct {
	file    vfs.File
	onError func(error)

	closed atomic.Bool
	mu     sync.Mutex
	state  state
	// dirty is true if a write has not been synced yet. timer then syncs it.
	dirty bool
	timer *time.Timer
	// syncing is locked while timer syncs the file.
	syncing sync.Mutex
}

// Open opens the ledger of the database in dir, and creates it if there is none. Call Check first. onError is called, in another goroutine,
// if the ledger cannot be synced. The caller must call Close or Abandon.
func Open(disk vfs.FS, dir string, onError func(error)) (*Ledger, error) {
	l := &Ledger{onError: onError}
	var err error
	if l.state, err = readLedger(disk, dir); err == nil && l.state.write == 0 {
		err = create(disk, dir, &l.state)
	}
	if err == nil {
		l.file, err = disk.OpenReadWrite(disk.PathJoin(dir, Name), vfs.WriteCategoryUnspecified)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", disk.PathJoin(dir, Name), err)
	}
	l.timer = time.AfterFunc(syncEvery, l.sync)
	return l, nil
}

// create writes a new ledger with two equal slots.
func create(disk vfs.FS, dir string, s *state) error {
	s.write = 1
	b := make([]byte, slotDistance+slotSize+4)
	copy(b, s.encode())
	copy(b[slotDistance:], s.encode())
	temporary := disk.PathJoin(dir, Name+".new")
	f, err := disk.Create(temporary, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := disk.Rename(temporary, disk.PathJoin(dir, Name)); err != nil {
		return err
	}
	return SyncDir(disk, dir)
}

// MkdirAll creates a directory and its missing parents durably.
func MkdirAll(disk vfs.FS, dir string) error {
	if _, err := disk.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := disk.PathDir(dir)
	if parent == dir {
		return fmt.Errorf("there is no directory %s", dir)
	}
	if err := MkdirAll(disk, parent); err != nil {
		return err
	}
	if err := disk.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return SyncDir(disk, parent)
}

// SyncDir makes the creation, the removal and the renaming of files in a directory durable.
func SyncDir(disk vfs.FS, dir string) error {
	d, err := disk.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// kind is the kind of a file that the ledger records.
type kind int

const (
	other kind = iota
	aManifest
	aLog
)

// parseName returns the kind and the number of a file of a database.
func parseName(name string) (kind, uint64) {
	if digits, ok := strings.CutPrefix(name, "MANIFEST-"); ok {
		if n, err := strconv.ParseUint(digits, 10, 64); err == nil {
			return aManifest, n
		}
	}
	if digits, ok := strings.CutSuffix(name, ".log"); ok {
		if n, err := strconv.ParseUint(digits, 10, 64); err == nil {
			return aLog, n
		}
	}
	return other, 0
}

// Grew records that the first length bytes of a file have been synced. name has no directory. Grew ignores files other than MANIFESTs and
// logs.
func (l *Ledger) Grew(name string, length int64) error {
	k, number := parseName(name)
	if k == other {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed.Load() {
		return nil
	}
	l.state.grow(k, file{number, uint64(length)})
	return l.write()
}

// Marked records that the marker file durably names a MANIFEST.
func (l *Ledger) Marked(manifest string) error {
	k, number := parseName(manifest)
	if k != aManifest {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed.Load() {
		return nil
	}
	l.state.current = number
	return l.write()
}

// Acknowledge records the number of the newest batch of the store. The ledger writes it with the next synced file, or when it is closed.
func (l *Ledger) Acknowledge(version uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.version = version
}

// write replaces the older slot. The caller holds mu.
func (l *Ledger) write() error {
	l.state.write++
	if _, err := l.file.WriteAt(l.state.encode(), int64(l.state.write%2)*slotDistance); err != nil {
		return fmt.Errorf("write %s: %w", Name, err)
	}
	if !l.dirty {
		l.dirty = true
		l.timer.Reset(syncEvery)
	}
	return nil
}

// sync syncs the file. It holds mu only briefly, so that it delays no write.
func (l *Ledger) sync() {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	l.dirty = false
	l.mu.Unlock()
	if l.closed.Load() {
		return
	}
	if err := l.file.SyncData(); err != nil {
		l.onError(fmt.Errorf("sync %s: %w", Name, err))
	}
}

// Abandon ends the use of the ledger. It neither does I/O nor waits for it, because the disk may not respond.
func (l *Ledger) Abandon() {
	l.closed.Store(true)
	l.timer.Stop()
}

// Discard is like Abandon, but also closes the file. Call it only if the disk responds.
func (l *Ledger) Discard() error {
	l.Abandon()
	l.syncing.Lock()
	defer l.syncing.Unlock()
	return l.file.Close()
}

// Close syncs the ledger and closes it.
func (l *Ledger) Close() error {
	l.mu.Lock()
	err := l.write()
	l.mu.Unlock()
	l.Abandon()
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if err == nil {
		err = l.file.SyncData()
	}
	return errors.Join(err, l.file.Close())
}
