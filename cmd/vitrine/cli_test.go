package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/unicode"

	"github.com/vitrine-dev/vitrine/internal/cli/connect"
	"github.com/vitrine-dev/vitrine/internal/cli/importstate"
	"github.com/vitrine-dev/vitrine/internal/exit"
	"github.com/vitrine-dev/vitrine/server/client"
	"github.com/vitrine-dev/vitrine/server/library"
	"github.com/vitrine-dev/vitrine/server/query"
	"github.com/vitrine-dev/vitrine/server/reference"
)

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestImportAndExportAreInverse(t *testing.T) {
	from := start(t, newStore(t))
	from.environment(t)
	file := write(t, "items.ndjson", itemLines(1, 20)+`{"content_type":"text","caption":"no id","submission":{"username":"ann","email":"ann@shop.example"},"tags":{"hashtags":["Sun"]}}`+"\n")
	vitrine(t.Context(), "", "import", file).want(t, 0, "21 lines", "21 added")
	first := vitrine(t.Context(), "", "export")
	first.want(t, 0, "ann@shop.example")

	packed := filepath.Join(t.TempDir(), "all.ndjson.gz")
	vitrine(t.Context(), "", "export", "--file", packed).want(t, 0, "21 lines in")
	if info, err := os.Stat(packed); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the export's mode is %v, %v; want 0600", info.Mode(), err)
	}
	if plain := unpack(t, packed); plain != first.stdout {
		t.Error("the compressed export differs from the plain one")
	}

	to := start(t, newStore(t))
	to.environment(t)
	vitrine(t.Context(), "", "import", packed).want(t, 0, "21 added")
	second := vitrine(t.Context(), "", "export")
	if diff := cmp.Diff(strings.Split(first.stdout, "\n"), strings.Split(second.stdout, "\n")); diff != "" {
		t.Errorf("exported, imported and exported again: -first +second\n%s", diff)
	}
	const broken = "approval_status:app AND (summer OR beach"
	_, syntax := query.Parse(broken)
	vitrine(t.Context(), "", "export", "--query", broken).want(t, exit.Failed, syntax.Error())

	part := vitrine(t.Context(), "", "export", "--query", "id:[5 TO 7]")
	part.want(t, 0)
	if n := strings.Count(part.stdout, "\n"); n != 3 {
		t.Errorf("%d lines for a query that matches 3", n)
	}

	vitrine(t.Context(), "", "facets", "approval_status", "-q", "id:[5 TO 7]").want(t, 0, "VALUE   ITEMS\napp     3\n\n3 matching items\n")
	vitrine(t.Context(), "", "facets", "id", "--prefix", "1", "--limit", "2", "-o", "json").want(t, 0, `"field": "id"`, `"value": "10"`)
	vitrine(t.Context(), "", "facets", "text").want(t, exit.Failed, "its type is text")
	vitrine(t.Context(), "", "facets", "id", "--limit", "101").want(t, exit.Usage, "must be from 1 to 100")
	vitrine(t.Context(), "", "can-i", "-").want(t, 0, "READ-WRITE", "AddItems, Moderate, Tag", "items", "never")
	vitrine(t.Context(), "", "can-i", "-", "Erase").want(t, 0, "yes\n")
	vitrine(t.Context(), "", "can-i", "-", "Fly").want(t, exit.Usage, "must be one of [AddItems")
	vitrine(t.Context(), "", "facets", "submission.email").want(t, exit.Usage, "never shows submissions")
}

// TestExportOfADamagedStore changes a byte of a block in a file of the database, and checks that the export contains every readable item
// and that the command names the missing items.
func TestExportOfADamagedStore(t *testing.T) {
	const items = 200
	dir := newStore(t)
	lines := strings.SplitAfter(itemLines(1, items), "\n")
	random := rand.NewChaCha8([32]byte{})
	for i := range items {
		var noise [600]byte // incompressible, so that the items take several blocks
		_, _ = random.Read(noise[:])
		lines[i] = strings.Replace(lines[i], "item number", base64.RawURLEncoding.EncodeToString(noise[:]), 1)
	}
	s := start(t, dir)
	s.environment(t)
	vitrine(t.Context(), strings.Join(lines, ""), "import", "-").want(t, 0, "200 added")
	s.signal(syscall.SIGTERM)
	start(t, dir).signal(syscall.SIGTERM) // when the server stops, the database writes its log to a table
	tables, err := filepath.Glob(filepath.Join(dir, "pebble", "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	var name string // of the largest table, which contains the items
	var content []byte
	for _, table := range tables {
		of, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		if len(of) > len(content) {
			name, content = table, of
		}
	}
	if len(content) < items*600 {
		t.Fatalf("the largest of %d tables has %d bytes, fewer than the items", len(tables), len(content))
	}
	content[len(content)/2]++
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s = start(t, dir)
	s.environment(t)
	file := filepath.Join(t.TempDir(), "rescue.ndjson.gz")
	toFile := vitrine(t.Context(), "", "export", "--file", file)
	toFile.want(t, exit.Damaged, "lines in", "vitrine: the export lacks", "items that the server cannot read, with ids in these ranges: ")
	toStdout := vitrine(t.Context(), "", "export")
	toStdout.want(t, exit.Damaged, "items that the server cannot read, with ids in these ranges: ")
	rescued := unpack(t, file)
	if rescued != toStdout.stdout {
		t.Error("the file and the standard output differ")
	}
	var missing []int
	for id := 1; id <= items; id++ {
		if !strings.Contains(rescued, fmt.Sprintf(`"id":%d,`, id)) {
			missing = append(missing, id)
		}
	}
	n := strings.Count(rescued, "\n")
	// One block is damaged, so the missing items have consecutive IDs. The block is in the middle of the table, so the first item and the last
	// item are not in it.
	if len(missing) != items-n || n < items/2 || n >= items || missing[0] == 1 || missing[len(missing)-1] == items ||
		missing[len(missing)-1]-missing[0] != len(missing)-1 {
		t.Errorf("%d items of %d are exported; %v are missing", n, items, missing)
	}
	if !strings.Contains(toFile.stderr, fmt.Sprintf("lacks %d items", items-n)) {
		t.Errorf("%d items are missing, and the command says\n%s", items-n, toFile.stderr)
	}
	eventually(t, "logged", func() bool { return strings.Contains(s.logged(), "an export lacks items that cannot be read") })
}

func unpack(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

func TestImportReportsInvalidLines(t *testing.T) {
	s := start(t, newStore(t))
	s.environment(t)
	lines := itemLines(1, 2) + "nonsense\n\n" + `{"content_type":"text"}` + "\n" + itemLines(2, 2)
	got := vitrine(t.Context(), lines, "import", "-")
	got.want(t, exit.Lines, "line 3: ", "line 5: caption", "line 6: an item with this id already exists", "3 added, 3 failed", "3 of 7 lines failed")
	vitrine(t.Context(), itemLines(1, 4), "import", "-", "--on-conflict", "skip").want(t, 0, "1 added, 3 already present")
	vitrine(t.Context(), strings.ReplaceAll(itemLines(1, 2), "number", "changed"), "import", "-", "--on-conflict", "replace").want(t, 0, "0 added, 2 replaced")
	if out := vitrine(t.Context(), "", "export", "-q", "text:changed").stdout; strings.Count(out, "\n") != 2 {
		t.Errorf("replaced items: %s", out)
	}
	vitrine(t.Context(), "", "export", "-q", "a AND").want(t, exit.Failed, "position")
}

// TestImportRefusesOtherFormats checks that the error names the format of a file that is not NDJSON, and that the command sends no line of
// the file.
func TestImportRefusesOtherFormats(t *testing.T) {
	t.Setenv("VITRINE_SERVER", "https://127.0.0.1:1")
	t.Setenv("VITRINE_TOKEN", secret)
	const line = `{"content_type":"text","caption":"a, b; c"}`
	for name, tc := range map[string]struct{ text, says string }{
		"CSV":                {"id,caption\n1,x\n", "is CSV"},
		"a JSON array":       {"\n[\n" + line + ",\n" + line + "\n]\n", "is a JSON array: put one item on each line, for example with jq -c '.[]'"},
		"an array in a line": {"[" + line + "]", "is a JSON array"},
		"several lines":      {"{\n  \"caption\": \"x\"\n}\n", "jq -c '.'"},
		"an array, UTF-16":   {utf16(t, "["+line+"]"), "jq -c '.[]', after you have decompressed it and converted it to UTF-8"},
		"CSV with a mark":    {"\uFEFFid,caption\n1,x\n", "is CSV"},
		"zstd":               {"\x28\xb5\x2f\xfd\x24\x01\n", "is compressed with zstd: decompress it"},
		"truncated gzip":     {zip(t, line)[:20], "is truncated: its gzip data has no end; get a complete copy"},
		"not text":           {"ab\x00\x01\n", "is not text"},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, "items.ndjson", tc.text)
			vitrine(t.Context(), "", "import", file).want(t, exit.Failed, "items.ndjson", tc.says)
			vitrine(t.Context(), tc.text, "import", "-").want(t, exit.Failed, "standard input", tc.says)
		})
	}
	for _, text := range []string{"", "\n\n", line, "\n" + line + "\n" + line + "\n", strings.Repeat("\n", 1<<17) + line, `{"x":"` + strings.Repeat("x", 1<<17) + `"}`} {
		in, err := openInput(strings.NewReader(text), "-")
		if err != nil {
			t.Errorf("%.40q: %v", text, err)
			continue
		}
		if got, err := io.ReadAll(in); string(got) != text || err != nil {
			t.Errorf("%.40q: %d bytes are left to import (%v), want %d", text, len(got), err, len(text))
		}
	}
}

// zip compresses a text with gzip.
func zip(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// utf16 encodes a text as the redirection > of Windows PowerShell does.
func utf16(t *testing.T, text string) string {
	t.Helper()
	encoded, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(strings.ReplaceAll(text, "\n", "\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// TestInputsInOtherForms passes items, a token, a certificate authority and manifests in the forms in which other programs write them, to
// every command that reads such a file.
func TestInputsInOtherForms(t *testing.T) {
	s := start(t, newStore(t))
	s.environment(t)
	authority := string(readFile(t, os.Getenv("VITRINE_CA_FILE")))
	t.Setenv("VITRINE_TOKEN", "")
	t.Setenv("VITRINE_CA_FILE", "")
	const manifest = "apiVersion: vitrine.dev/v1alpha1\nkind: ContentFilter\nmetadata: {name: x, namespace: shop}\nspec: {query: '*:*'}\n" +
		"---\napiVersion: vitrine.dev/v1alpha1\nkind: Tag\nmetadata: {name: x, namespace: shop}\nspec: {namespace: theme, key: x, selector: {query: '*:*'}}\n"
	n := 0
	for name, as := range map[string]func(string) string{
		"a byte order mark": func(text string) string { return "\uFEFF" + text },
		"UTF-16":            func(text string) string { return utf16(t, text) },
		"gzip":              func(text string) string { return zip(t, text) },
		"gzip of UTF-16":    func(text string) string { return zip(t, utf16(t, text)) },
	} {
		t.Run(name, func(t *testing.T) {
			connection := []string{"--token-file", write(t, "token", as(secret+"\n")), "--ca-file", write(t, "ca.crt", as(authority))}
			lines := as(itemLines(n+1, 1500)) // two requests
			n += 1500
			vitrine(t.Context(), "", append([]string{"import", write(t, "items.txt", lines)}, connection...)...).want(t, 0, "1,500 added")
			vitrine(t.Context(), lines, append([]string{"import", "-", "--on-conflict=skip"}, connection...)...).want(t, 0, "1,500 already present")
			vitrine(t.Context(), "", append([]string{"diff", "-f", write(t, "x.yaml", as(manifest))}, connection...)...).want(t, 0, "shop/x (new)")
			vitrine(t.Context(), as(manifest), "validate", "-f", "-").want(t, 0, "2 objects, 0 errors")
		})
	}
	t.Setenv("VITRINE_TOKEN", secret)
	t.Setenv("VITRINE_CA_FILE", filepath.Join(s.dir, "tls", "ca.crt"))
	sequence := "\x1e" + strings.TrimSuffix(strings.ReplaceAll(itemLines(1, 10), "\n", "\n\x1e"), "\x1e")
	vitrine(t.Context(), sequence, "import", "-", "--on-conflict=skip").want(t, 0, "10 lines", "10 already present")
	vitrine(t.Context(), "", "validate", "-f", write(t, "x.yaml", zip(t, manifest)[:60])).want(t, exit.Manifests,
		"x.yaml:1:1: error: the file is truncated: its gzip data has no end; get a complete copy")
}

// TestImportOfATruncatedFile imports a gzip file without its end, and then a complete copy of it.
func TestImportOfATruncatedFile(t *testing.T) {
	s := start(t, newStore(t))
	s.environment(t)
	whole := zip(t, itemLines(1, 30000))
	file := write(t, "items.ndjson.gz", whole[:len(whole)-100])
	got := vitrine(t.Context(), "", "import", file)
	got.want(t, exit.Failed, "vitrine: stopped after line ", "items.ndjson.gz is truncated: its gzip data has no end; get a complete copy; run the same command again to resume")
	if err := os.WriteFile(file, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	vitrine(t.Context(), "", "import", file).want(t, 0, "resuming after line ", "30,000 lines", "30,000 added")
	vitrine(t.Context(), whole[:len(whole)-100], "import", "-", "--on-conflict=skip").want(t, exit.Failed,
		"standard input is truncated: ", "get a complete copy; import the complete input with --on-conflict=skip, which skips items that exist")
}

// TestImportIsResumed interrupts an import of a file and runs the command again.
func TestImportIsResumed(t *testing.T) {
	s := start(t, newStore(t))
	s.environment(t)
	file := write(t, "items.ndjson", itemLines(1, 2500))
	s.signal(9)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	vitrine(ctx, "", "import", file).want(t, exit.Interrupted, "interrupted after line 0; run the same command again to resume")

	s = start(t, s.dir)
	s.environment(t)
	// Record the state that an import leaves if it is killed after it has sent its second request and before it receives the response.
	prefix := itemLines(1, 1000)
	vitrine(t.Context(), itemLines(1, 2000), "import", "-").want(t, 0)
	keepState(t, file, prefix, 1000, 2000)
	vitrine(t.Context(), "", "import", file).want(t, 0, "resuming after line 1,000", "to import from the first line, use --restart", "2,500 lines", "500 added, 1,000 already present")
	left, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "vitrine", "imports", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("a finished import leaves %v, %v", left, err)
	}

	keepState(t, file, prefix, 1000, 2000)
	vitrine(t.Context(), "", "import", file, "--restart", "--on-conflict", "skip").want(t, 0, "0 added, 2,500 already present")
	keepState(t, file, strings.Replace(prefix, "item", "iten", 1), 1000, 2000)
	vitrine(t.Context(), "", "import", file).want(t, exit.Failed, "has changed since the import was interrupted", "to import from the first line, use --restart")
}

func TestCommandErrors(t *testing.T) {
	for _, name := range []string{"VITRINE_SERVER", "VITRINE_TOKEN", "VITRINE_CA_FILE"} {
		t.Setenv(name, "")
	}
	file := write(t, "items.ndjson", "")
	token := write(t, "token", secret+"\n")
	server := []string{"--server", "https://127.0.0.1:1", "--token-file", token}
	cases := map[string]struct {
		args []string
		code int
		says string
	}{
		"no server":           {[]string{"export"}, exit.Usage, "pass --server or set VITRINE_SERVER"},
		"no token":            {[]string{"export", "--server", "https://127.0.0.1:1"}, exit.Usage, "pass --token-file or set VITRINE_TOKEN"},
		"no token file":       {[]string{"export", "--server", "https://127.0.0.1:1", "--token-file", file + "x"}, exit.Failed, "read the access token"},
		"plain HTTP":          {[]string{"export", "--server", "http://shop.example", "--token-file", token}, exit.Failed, "use https"},
		"no authority":        {append([]string{"export", "--ca-file", file}, server...), exit.Certificate, "contains no PEM certificate"},
		"no input":            {append([]string{"import", file + "x"}, server...), exit.Failed, "does not exist: check the path"},
		"a directory":         {append([]string{"import", filepath.Dir(file)}, server...), exit.Failed, "is a directory"},
		"no file named":       {append([]string{"import"}, server...), exit.Usage, "0 arguments given: use vitrine import FILE|-"},
		"on conflict":         {append([]string{"import", "-", "--on-conflict", "merge"}, server...), exit.Usage, "must be fail, replace or skip"},
		"unanswered":          {append([]string{"import", "-", "--unanswered", "guess"}, server...), exit.Usage, "must be stop, resend or skip"},
		"unknown command":     {[]string{"bogus"}, exit.Usage, `there is no command "bogus"`},
		"no running server":   {[]string{"sweep", "--data-dir", t.TempDir()}, exit.Failed, "no running server uses"},
		"a compressed backup": {[]string{"backup", "--data-dir", t.TempDir(), "x.tar.gz"}, exit.Usage, "backup does not compress"},
		"no property":         {[]string{"purge", "shop"}, exit.Usage, "must be NAMESPACE/NAME"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			vitrine(t.Context(), "", tc.args...).want(t, tc.code, tc.says)
		})
	}
}

func TestWrongAuthorityAndWrongToken(t *testing.T) {
	s := start(t, newStore(t))
	s.environment(t)
	t.Setenv("VITRINE_CA_FILE", "")
	vitrine(t.Context(), "", "export").want(t, exit.Certificate, "pass the server's ca.crt with --ca-file")
	s.environment(t)
	t.Setenv("VITRINE_TOKEN", "another-token-that-nobody-has-issued")
	got := vitrine(t.Context(), itemLines(1, 1), "import", "-")
	got.want(t, exit.Failed, "stopped after line 0", "pass the current value of an AccessToken")
	if strings.Contains(got.stderr, "another-token") {
		t.Error("the token was printed")
	}
}

func TestSweepAndPurge(t *testing.T) {
	s := start(t, newStore(t))
	s.environment(t)
	vitrine(t.Context(), itemLines(1, 3), "import", "-").want(t, 0)
	dir := "--data-dir=" + s.dir
	vitrine(t.Context(), "", "sweep", dir).want(t, 0, "nothing waits for confirmation: this server does not follow a cluster")
	vitrine(t.Context(), "", "purge", "shop/other", dir).want(t, exit.Failed, "the store has no property shop/other (its properties: shop/default (3 items))")
	vitrine(t.Context(), "shop/default\n", "purge", "shop/default", dir).want(t, exit.Failed, "nothing was erased")
	vitrine(t.Context(), "", "purge", "shop/default", "--yes", dir).want(t, exit.Failed, "still declared by the manifest of Property shop/default: delete that manifest first")
	s.signal(15)

	forget(t, s.dir)
	start(t, s.dir)
	vitrine(t.Context(), "", "purge", "shop/default", "--yes", dir).want(t, 0, "property shop/default erased, with 3 items")
	vitrine(t.Context(), "", "purge", "shop/default", dir).want(t, exit.Failed, "the store has no property shop/default (its properties: none)")
	vitrine(t.Context(), "", "purge", "shop/default", "--yes", dir).want(t, exit.Failed, "shop/default: not found (properties of the store: none)")
}

// forget removes the definitions of the test's manifests, as if the manifests had been deleted.
func forget(t *testing.T, dir string) {
	t.Helper()
	lib, err := reference.Open(reference.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	withdraw(t, lib)
}

// withdraw removes the property and the tokens of fill from a library, and closes the library.
func withdraw(t *testing.T, lib library.Library) {
	t.Helper()
	removed, err := lib.Sweep(t.Context(), library.Scope{
		Install: "test", Kinds: []library.Kind{library.KindProperty, library.KindToken}, Confirmed: true,
	}, nil)
	if err := errors.Join(err, lib.Close()); err != nil {
		t.Fatal(err)
	}
	if removed != 3 {
		t.Fatalf("%d definitions were removed, want the property and both tokens", removed)
	}
}

func TestVersion(t *testing.T) {
	vitrine(t.Context(), "", "version").want(t, 0, "vitrine ", "commit ", "go1.")
}

// keepState records the state of an interrupted import of file. lines is the number of lines that the server has confirmed, and prefix is
// their text. sent is the number of lines that the client has sent.
func keepState(t *testing.T, file, prefix string, lines, sent int64) {
	t.Helper()
	c, err := (&connect.Connection{}).Open()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(prefix))
	kept := importstate.Open(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "vitrine", "imports"), c.Server(), c.Identity(), file)
	err = kept.Save(importstate.State{Server: c.Server(), Input: file, Begun: time.Now(), At: client.Checkpoint{
		Lines: lines, Bytes: int64(len(prefix)), SHA256: hex.EncodeToString(sum[:]), Sent: sent,
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// TestExportToADirectory checks that the command refuses a directory before it writes anything.
func TestExportToADirectory(t *testing.T) {
	dir := t.TempDir()
	token := write(t, "token", strings.Repeat("t", 40))
	vitrine(t.Context(), "", "export", "--server", "https://127.0.0.1:1", "--token-file", token, "--file", dir).
		want(t, exit.Failed, "write "+dir+": it is a directory")
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
