package archive

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/vitrine-dev/vitrine/hack/image/recipe"
)

// Layer is what one COPY brings.
type Layer struct {
	// Line is the instruction.
	Line    string
	entries []entry
}

type entry struct {
	name     string // without a slash at its begin or end
	mode     fs.FileMode
	uid, gid int
	content  []byte
}

// Collect takes what a COPY names from the build context. Folders above its target belong to root; the target and what is
// below it to whom the instruction says. Anything but files and folders is an error.
func Collect(context fs.FS, c recipe.Copy) (Layer, error) {
	l := Layer{Line: c.Line}
	from := path.Clean(c.From)
	to := strings.Trim(path.Clean(c.To), "/")
	info, err := fs.Stat(context, from)
	if err != nil {
		return l, fmt.Errorf("find what to copy: %w", err)
	}
	if !info.IsDir() && (strings.HasSuffix(c.To, "/") || to == "") {
		to = path.Join(to, path.Base(from))
	}
	for i, r := range to {
		if r == '/' {
			l.entries = append(l.entries, entry{name: to[:i], mode: fs.ModeDir | 0o755})
		}
	}
	err = fs.WalkDir(context, from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := entry{name: path.Join(to, strings.Trim(strings.TrimPrefix(name, from), "/")), mode: info.Mode(), uid: c.UID, gid: c.GID}
		switch {
		case e.name == "": // the top of the image is there already
			return nil
		case d.IsDir():
		case info.Mode().IsRegular():
			if e.content, err = fs.ReadFile(context, name); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s is neither a file nor a folder", name)
		}
		l.entries = append(l.entries, e)
		return nil
	})
	if err != nil {
		return l, fmt.Errorf("copy %s: %w", c.From, err)
	}
	return l, nil
}

// tar returns the layer, uncompressed.
func (l Layer) tar(at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range l.entries {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode.Perm()), Uid: e.uid, Gid: e.gid, ModTime: at,
		}
		if e.mode.IsDir() {
			header.Typeflag, header.Name = tar.TypeDir, e.name+"/"
		}
		if err := add(w, header, e.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write a layer: %w", err)
	}
	return out.Bytes(), nil
}
