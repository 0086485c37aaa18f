package synced

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// written returns a file that Pebble's own writers have written, with records of random sizes, and the offsets at which the records end.
func written(t *testing.T, number uint64, random *rand.Rand) (content []byte, ends []int) {
	t.Helper()
	var out bytes.Buffer
	next := func() []byte {
		size := random.IntN(200)
		if random.IntN(4) == 0 {
			size = random.IntN(3 * blockSize)
		}
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	if number == 0 {
		w := record.NewWriter(&out)
		for range 20 {
			if _, err := w.WriteRecord(next()); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			ends = append(ends, out.Len())
		}
		return out.Bytes(), ends
	}
	w := record.NewLogWriter(&out, 1, record.LogWriterConfig{WriteWALSyncOffsets: func() bool { return true }})
	for range 20 {
		end, err := w.WriteRecord(next())
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, int(end))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), append(ends, out.Len())
}

// TestMeasure reads files of Pebble's writers: whole, with reserved space behind them, cut, and with a changed bit.
func TestMeasure(t *testing.T) {
	for seed := range uint64(30) {
		for number := range uint64(2) {
			random := rand.New(rand.NewPCG(seed, number))
			content, ends := written(t, number, random)
			length := int64(len(content))
			if e := measured(t, content, number); e != (extent{end: length}) {
				t.Errorf("seed %d, number %d: %+v, want the whole file of %d bytes", seed, number, e, length)
			}
			if e := measured(t, append(bytes.Clone(content), make([]byte, 2*blockSize)...), number); e.end < length || e.rest != 0 {
				t.Errorf("seed %d, number %d: %+v with reserved space behind %d bytes", seed, number, e, length)
			}
			cut := random.IntN(len(content))
			if e := measured(t, content[:cut], number); e.end > int64(cut) || e.end < lastBefore(ends, cut) || e.behind.batches != 0 {
				t.Errorf("seed %d, number %d: %+v of a file that was cut at %d", seed, number, e, cut)
			}
			at := random.IntN(len(content))
			damaged := bytes.Clone(content)
			damaged[at] ^= 1 << random.IntN(8)
			e := measured(t, damaged, number)
			if e.end > int64(at) || e.end < lastBefore(ends, at) {
				t.Errorf("seed %d, number %d: %+v of a file with a changed bit at %d", seed, number, e, at)
			}
			if at < ends[10] && e.behind.batches == 0 {
				t.Errorf("seed %d, number %d: no record was found behind the changed bit at %d", seed, number, at)
			}
		}
	}
}

func measured(t *testing.T, content []byte, number uint64) extent {
	t.Helper()
	disk := vfs.NewMem()
	f, err := disk.Create("file", vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write(bytes.Clone(content))
	}
	if err != nil {
		t.Fatal(err)
	}
	if f, err = disk.Open("file"); err != nil {
		t.Fatal(err)
	}
	e, err := measure(f, number, func([]byte) {})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// lastBefore returns the end of the last record that ends before or at an offset.
func lastBefore(ends []int, at int) (end int64) {
	for _, e := range ends {
		if e <= at {
			end = int64(e)
		}
	}
	return end
}
