package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/server/coding"
	"github.com/vitrine-dev/vitrine/server/problems"
)

//go:embed assets
var embedded embed.FS

// types contains the content types of files by extension. The server does not use package mime, because its types depend on the system.
var types = map[string]string{
	".css":   "text/css; charset=utf-8",
	".html":  "text/html; charset=utf-8",
	".ico":   "image/x-icon",
	".js":    "text/javascript; charset=utf-8",
	".json":  "application/json",
	".png":   "image/png",
	".svg":   "image/svg+xml",
	".woff2": "font/woff2",
}

// indexFile is the HTML page of the application.
const indexFile = "index.html"

// asset is a file of the application in memory.
type asset struct {
	kind          string // the content type
	plain, zipped []byte // zipped is nil if gzip does not make the file smaller
}

// assets contains the files of one version of the application.
type assets struct {
	// hash identifies the version. It is part of the URLs of all files except index.html.
	hash  string
	files map[string]asset
	// policy is the Content-Security-Policy of index.html.
	policy string
}

// contained matches an element of index.html that names the file which it contains.
var contained = regexp.MustCompile(`<(script|style)>([^<]+)</`)

// loadAssets reads all files of the application and compresses them.
func loadAssets(files fs.FS) (*assets, error) {
	a := &assets{files: map[string]asset{}}
	sum := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		kind, ok := types[path.Ext(name)]
		if !ok {
			return fmt.Errorf("%s: the extension has no content type in server/console/assets.go", name)
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s\x00%d\x00%s", name, len(content), content)
		a.files[name] = asset{kind: kind, plain: content}
		return nil
	})
	if err != nil {
		return nil, err
	}
	page, ok := a.files[indexFile]
	if !ok {
		return nil, fmt.Errorf("%s is missing", indexFile)
	}
	a.hash = hex.EncodeToString(sum.Sum(nil)[:8])
	page.plain = bytes.ReplaceAll(page.plain, []byte(`"assets/`), []byte(`"`+Path+"assets/"+a.hash+"/"))
	if page.plain, err = a.fill(page.plain); err != nil {
		return nil, err
	}
	a.files[indexFile] = page
	for name, f := range a.files {
		if f.zipped, err = zip(f.plain); err != nil {
			return nil, fmt.Errorf("compress %s: %w", name, err)
		}
		a.files[name] = f
	}
	return a, nil
}

// fill puts the content of files into the elements of the page that name them, and allows exactly this content in the policy of the page.
// Such a file arrives with the page, so it costs no further request.
func (a *assets) fill(page []byte) ([]byte, error) {
	a.policy = policy
	var err error
	page = contained.ReplaceAllFunc(page, func(element []byte) []byte {
		match := contained.FindSubmatch(element)
		kind, name := string(match[1]), string(match[2])
		f, ok := a.files[name]
		if !ok || bytes.Contains(f.plain, []byte("</")) {
			err = fmt.Errorf("%s: the element %s names %s, which must be a file without </", indexFile, kind, name)
		}
		digest := sha256.Sum256(f.plain)
		own := kind + "-src 'self'"
		a.policy = strings.Replace(a.policy, own, own+" 'sha256-"+base64.StdEncoding.EncodeToString(digest[:])+"'", 1)
		return fmt.Appendf(nil, "<%s>%s</", kind, f.plain)
	})
	return page, err
}

// zip returns the content in gzip format. It returns nil if the compressed content is not smaller.
func zip(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if b.Len() >= len(content) {
		return nil, nil
	}
	return b.Bytes(), nil
}

// servePage serves index.html. Browsers may cache the page, but must check each time whether it has changed.
func (a *assets) servePage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Content-Security-Policy", a.policy)
	a.files[indexFile].serve(w, r, a.hash)
}

// serveFile serves a file of this version. During a rollout, a browser can request a file of another version from this server. Such a
// request fails.
func (a *assets) serveFile(w http.ResponseWriter, r *http.Request) {
	f, ok := a.files[r.PathValue("file")]
	if !ok || r.PathValue("hash") != a.hash {
		(&problem{problems.NotFound, "the file does not belong to this version of the console: reload the page"}).write(w)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	f.serve(w, r, a.hash)
}

func (f asset) serve(w http.ResponseWriter, r *http.Request, hash string) {
	content, etag := f.plain, hash
	h := w.Header()
	h.Set("Vary", "Accept-Encoding")
	if f.zipped != nil && coding.Gzip(r.Header) {
		h.Set("Content-Encoding", "gzip")
		content, etag = f.zipped, hash+"-gzip"
	}
	h.Set("Content-Type", f.kind)
	h.Set("ETag", strconv.Quote(etag))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}
