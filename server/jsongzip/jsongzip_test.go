package jsongzip

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	fastgzip "github.com/klauspost/compress/gzip"

	"github.com/vitrine-dev/vitrine/internal/sample"
	"github.com/vitrine-dev/vitrine/server/item"
	"github.com/vitrine-dev/vitrine/server/query"
)

// contents returns pages of 50 items for two kinds of content: the sample content in nine languages, in which items have different members,
// and the content of benchmarks.
var contents = sync.OnceValue(func() map[string][][]byte {
	var written bytes.Buffer
	if err := sample.Write(&written, 2500); err != nil {
		panic(err)
	}
	lines := bytes.SplitAfter(written.Bytes(), []byte("\n"))
	library, r := sample.NewLibrary(), rand.New(rand.NewPCG(1, 2))
	pages := map[string][][]byte{}
	for p := range 50 {
		pages["languages"] = append(pages["languages"], page(func(i int) []byte { return lines[50*p+i] }))
		pages["library"] = append(pages["library"], page(func(int) []byte { return library.Item(r.IntN(1_000_000)) }))
	}
	return pages
})

// page returns a response with 50 items. Their short codes are always the same, so that every call returns the same bytes.
func page(line func(i int) []byte) []byte {
	random := rand.NewChaCha8([32]byte{})
	body := []byte(`{"total_results":12345,"_embedded":{"ugc:item":[`)
	for i := range 50 {
		parsed, err := item.ParseLine(line(i), item.ParseOptions{AuthorKey: make([]byte, 32), Rand: random})
		if err != nil {
			panic(err)
		}
		if i > 0 {
			body = append(body, ',')
		}
		body = item.Encode(parsed.Item).Append(body, query.Public, item.Slots{BaseURL: "https://content.example.com"})
	}
	return append(body, `]},"_links":{"self":{"href":"https://content.example.com/v2/content/filters/6?page_size=50"}}}`...)
}

// restored fails the test if compressed is not a single gzip member that contains body.
func restored(t *testing.T, compressed, body []byte) {
	t.Helper()
	in := bytes.NewReader(compressed)
	r, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	r.Multistream(false)
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, body) {
		t.Fatalf("read %d bytes, which differ from the %d bytes of the body; error: %v", len(got), len(body), err)
	}
	if in.Len() > 0 {
		t.Fatalf("%d bytes after the end", in.Len())
	}
}

// bodies returns short and long bodies, most of which are not JSON.
func bodies() map[string][]byte {
	r := rand.NewChaCha8([32]byte{})
	random := make([]byte, 3*maxBlock)
	_, _ = r.Read(random)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	distant := func(distance int) []byte { // a value, other bytes, and the value again
		return slices.Concat([]byte(`"a value that is repeated",`), bytes.Repeat([]byte{'.'}, distance-27), []byte(`"a value that is repeated",the end`))
	}
	numbers := []byte("[")
	for i := range 50_000 {
		numbers = append(binary.AppendUvarint(append(numbers, `{"n":`...), uint64(i)), "},"...)
	}
	return map[string][]byte{
		"empty":                   {},
		"one byte":                {'a'},
		"one quote":               {'"'},
		"an empty object":         []byte("{}"),
		"all bytes":               all,
		"all bytes twice":         slices.Concat(all, all),
		"all bytes often":         bytes.Repeat(all, 1000),
		"a short run":             []byte(strings.Repeat("a", 100)),
		"a run of quotes":         []byte(strings.Repeat(`"`, 100_000)),
		"a long run":              []byte(strings.Repeat("a", 1_000_000)),
		"two values":              []byte(strings.Repeat(`"a","bc",`, 100_000)),
		"window":                  distant(window),
		"outside the window":      distant(window + 1),
		"Japanese":                []byte(strings.Repeat(`{"text":"夏の海辺で友達と","名前":"花子"},`, 3000)),
		"random":                  random,
		"random, one block":       random[:maxBlock],
		"random, a little more":   random[:maxBlock+1],
		"random, stored block":    random[:maxStored],
		"random and not":          slices.Concat(random[:maxBlock-1], bytes.Repeat([]byte(`{"member":1},`), maxBlock/13), random[:maxBlock]),
		"not random, then random": slices.Concat(bytes.Repeat([]byte(`{"member":1},`), maxBlock/13), random),
		"numbers":                 numbers,
		"periodic texts":          periodic(),
		"many pages":              bytes.Repeat(slices.Concat(contents()["library"][:10]...), 2),
	}
}

// periodic returns a page of items whose texts repeat tokens at a distance that is not that of the items. Everywhere, the rest of a text
// equals earlier bytes, but a shorter match is better. Comparing the whole rest each time would take quadratic time.
func periodic() []byte {
	var body []byte
	for i := range 32 {
		body = fmt.Appendf(body, `{"id":%d,"text":"`, i)
		for j := range 7000 {
			body = fmt.Appendf(body, `\"aaa%04x`, j%100*2654435761>>8&0xffff)
		}
		body = append(body, `"},`...)
	}
	return body
}

func TestBodies(t *testing.T) {
	c := &Compressor{}
	for name, body := range bodies() {
		t.Run(name, func(t *testing.T) {
			compressed := c.Append(nil, body)
			restored(t, compressed, body)
			t.Logf("%d bytes became %d", len(body), len(compressed))
			if limit := len(body) + 20 + 15*(1+len(body)/maxBlock); len(compressed) > limit {
				t.Errorf("%d bytes became %d, want at most %d", len(body), len(compressed), limit)
			}
		})
	}
}

// TestMatchLengths compresses matches of every length, at the end of a body and before other bytes.
func TestMatchLengths(t *testing.T) {
	c := &Compressor{}
	random := make([]byte, 1200)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	for n := range random {
		body := slices.Concat([]byte(`"`), random[:n], []byte(`","`), random[:n])
		restored(t, c.Append(nil, body), body)
		body = append(body, `" and other bytes`...)
		restored(t, c.Append(nil, body), body)
	}
}

// TestMaxBits checks that the buffer is long enough for a block that consists of the longest codes, before appendBlock stores it instead.
func TestMaxBits(t *testing.T) {
	var rare []byte
	for b, s := range forPages.literals[:endOfBlock] {
		if s&0xff == maxBits {
			rare = append(rare, byte(b))
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	body := make([]byte, maxBlock)
	for i := range body {
		body[i] = rare[r.IntN(len(rare))]
	}
	w := new(writer)
	w.reset()
	w.begin(true)
	w.find(body, 0)
	w.end(body)
	if most := len(body) * maxBits / 8; w.output.at < most-most/100 {
		t.Errorf("the block has %d bytes, so it tests less than the maximum of %d", w.output.at, most)
	}
	restored(t, (&Compressor{}).Append(nil, body), body)
}

func TestPages(t *testing.T) {
	c := &Compressor{}
	for name, pages := range contents() {
		t.Run(name, func(t *testing.T) {
			var other bytes.Buffer
			ours, theirs := 0, 0
			for _, body := range pages {
				compressed := c.Append(nil, body)
				restored(t, compressed, body)
				ours += len(compressed)
				klauspost(t, &other, body)
				theirs += other.Len()
			}
			ratio := float64(ours) / float64(theirs)
			t.Logf("%d bytes per page, klauspost/compress %d: %.3f times", ours/len(pages), theirs/len(pages), ratio)
			if ratio > 1.3 {
				t.Errorf("pages are %.3f times as long as with klauspost/compress, want at most 1.3 times", ratio)
			}
		})
	}
}

// TestSame checks that the result depends only on the body: not on earlier bodies, on dst, or on other goroutines.
func TestSame(t *testing.T) {
	pages := slices.Concat(contents()["languages"], contents()["library"])
	want := make([][]byte, len(pages))
	for i, body := range pages {
		want[i] = (&Compressor{}).Append(nil, body)
	}
	var c Compressor
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			dst := []byte("before")
			for i := range pages {
				i = (i*7 + g) % len(pages)
				dst = c.Append(dst[:6], pages[i])
				if string(dst[:6]) != "before" || !bytes.Equal(dst[6:], want[i]) {
					t.Errorf("page %d: different bytes", i)
				}
			}
		})
	}
	group.Wait()
}

// FuzzCompress compresses a body, and a long body that repeats it with other bytes between.
func FuzzCompress(f *testing.F) {
	for _, body := range bodies() {
		f.Add(body[:min(len(body), 2000)], uint16(3))
	}
	for _, pages := range contents() {
		f.Add(pages[0][:6000], uint16(40))
	}
	c := &Compressor{}
	f.Fuzz(func(t *testing.T, body []byte, times uint16) {
		restored(t, c.Append(nil, body), body)
		var long []byte
		for i := range times % 512 {
			long = append(append(long, body[:len(body)-int(i)%(len(body)+1)]...), byte(i))
			if len(long) > 2*maxBlock {
				break
			}
		}
		restored(t, c.Append(nil, long), long)
	})
}

var fastest = sync.OnceValue(func() *fastgzip.Writer {
	z, err := fastgzip.NewWriterLevel(io.Discard, fastgzip.BestSpeed)
	if err != nil {
		panic(err)
	}
	return z
})

// klauspost compresses body with klauspost/compress at its fastest level.
func klauspost(t testing.TB, dst *bytes.Buffer, body []byte) {
	dst.Reset()
	z := fastest()
	z.Reset(dst)
	if _, err := z.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkCompress(b *testing.B) {
	content := maps.Clone(contents())
	content["periodic texts"] = [][]byte{periodic()}
	for _, name := range slices.Sorted(maps.Keys(content)) {
		pages := content[name]
		run := func(by string, compress func(body []byte) int) {
			b.Run(name+"/"+by, func(b *testing.B) {
				i, total := 0, 0
				for b.Loop() {
					total += compress(pages[i%len(pages)])
					i++
				}
				b.ReportMetric(float64(total)/float64(i), "bytes/page")
			})
		}
		var c Compressor
		var dst []byte
		run("ours", func(body []byte) int {
			dst = c.Append(dst[:0], body)
			return len(dst)
		})
		var buffer bytes.Buffer
		run("klauspost", func(body []byte) int {
			klauspost(b, &buffer, body)
			return buffer.Len()
		})
	}
}
