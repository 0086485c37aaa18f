package library

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/google/uuid"
)

// idSpace is the UUID namespace of all derived ids. It must never change: the URL of every filter and unit depends on it.
const idSpace = "e0b6b1d4-6c1f-5d43-9f35-0e4f3f1e7a52"

// FilterIDs returns the UUID and the numeric id of the filter that the manifest namespace/name of the given kind declares in property p.
// The UUID is a UUIDv5 over (p, kind, namespace, name), and the id is derived from the UUID. The ids depend on nothing else, so all URLs
// stay the same when you rebuild a cluster from Git.
func FilterIDs(p PropertyID, kind Kind, namespace, name string) (uuid string, id int64) {
	uuid = derivedUUID(p, kind, namespace, name)
	return uuid, IDFromUUID(uuid)
}

// NewFilterIDs generates the UUID and the numeric id of a filter created over HTTP. The UUID is random, read from rand, and the id is
// derived from it. It fails only if reading from rand fails.
func NewFilterIDs(rand io.Reader) (filterUUID string, id int64, err error) {
	u, err := uuid.NewRandomFromReader(rand)
	if err != nil {
		return "", 0, fmt.Errorf("generate a filter's UUID: %w", err)
	}
	return u.String(), IDFromUUID(u.String()), nil
}

// UnitID returns the id of the conversion unit that the ActivateUnit namespace/name declares in property p.
func UnitID(p PropertyID, namespace, name string) int64 {
	return IDFromUUID(derivedUUID(p, KindUnit, namespace, name))
}

// PlatformPageID returns the default page id of property p. The records of the property's filters contain this id if the manifest of the
// property does not set another.
func PlatformPageID(p PropertyID) int64 {
	return IDFromUUID(uuid.NewSHA1(uuid.MustParse(idSpace), []byte(p)).String())
}

// derivedUUID derives a UUID from the parts, joined with slashes. The joined key is unambiguous, because names of Kubernetes objects
// contain no slash.
func derivedUUID(p PropertyID, kind Kind, namespace, name string) string {
	key := string(p) + "/" + kind.String() + "/" + namespace + "/" + name
	return uuid.NewSHA1(uuid.MustParse(idSpace), []byte(key)).String()
}

// IDFromUUID returns the numeric id derived from a UUID: the first 53 bits of the SHA-256 of its canonical text (36 lower-case characters),
// or 1 if these bits are all 0.
func IDFromUUID(canonical string) int64 {
	sum := sha256.Sum256([]byte(canonical))
	if id := int64(binary.BigEndian.Uint64(sum[:8]) >> 11); id != 0 {
		return id
	}
	return 1
}
