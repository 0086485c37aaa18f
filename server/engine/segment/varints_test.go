package segment

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestAddVarints compares addVarints and skipVarints, which read several varints at once, with reading one varint after the other.
func TestAddVarints(t *testing.T) {
	d := rand.New(rand.NewPCG(1, 2))
	for range 5_000 {
		var b []byte
		n := d.IntN(80)
		long := d.IntN(3) * 20 // percentage of varints of several bytes
		for range n {
			v := d.Uint64N(0x80)
			if d.IntN(100) < long {
				v = d.Uint64() >> d.IntN(60)
			}
			b = binary.AppendUvarint(b, v)
		}
		take := d.IntN(n + 3)
		want, rest := uint64(0), b
		for range min(take, n) {
			v, next, ok := uvarint(rest)
			if !ok {
				t.Fatal("a varint cannot be read")
			}
			want, rest = want+v, next
		}
		got, sum := addVarints(b, take)
		if sum != want || len(got) != len(rest) {
			t.Fatalf("the sum of %d of %d varints: %d with %d bytes left, expected %d with %d", take, n, sum, len(got), want, len(rest))
		}
		if skipped := skipVarints(b, uint64(take)); len(skipped) != len(rest) {
			t.Fatalf("after skipping %d of %d varints: %d bytes left, expected %d", take, n, len(skipped), len(rest))
		}
	}
}

func TestSevens(t *testing.T) {
	for bits := range 56 {
		for _, n := range []uint64{1 << bits, 2<<bits - 1} {
			b := binary.AppendUvarint(nil, n)
			x := binary.LittleEndian.Uint64(append(b, 0, 0, 0, 0, 0, 0, 0))
			if got := sevens(x); got != n {
				t.Errorf("sevens(%#x) is %#x, want %#x", x, got, n)
			}
		}
	}
}
