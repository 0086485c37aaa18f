package store

import "github.com/vitrine-dev/vitrine/server/library"

// SealCursor returns the cursor of a place in a listing, see library.Sealer.
func (s *Store) SealCursor(identity string, place any) (library.Cursor, error) {
	return s.sealer.Seal(identity, place)
}

// OpenCursor decodes into place what SealCursor encoded, in this process or another one on the same store.
func (s *Store) OpenCursor(c library.Cursor, identity string, place any) error {
	return s.sealer.Open(c, identity, place)
}
