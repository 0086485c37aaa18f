package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// File names of the documents in the image.
const (
	licenseFile = "LICENSE"
	noticesFile = "THIRD-PARTY-NOTICES"
	sbomFile    = "vitrine.cdx.json" // image scanners look for *.cdx.json
)

// papers are the documents that are distributed with a binary.
type papers struct{ license, notices, sbom []byte }

// part is a module that is linked into the binary. The Go standard library is a part too.
type part struct {
	path, version string
	sum           string // from go.sum; "" for the standard library
	texts         []text
}

// text is a file with a license, a copyright or a notice.
type text struct {
	name    string // path below the module's directory
	content []byte
}

// documents returns the license of this repository, the licenses and notices of every module that is linked into one of the binaries, and
// their bill of materials in CycloneDX format. The binaries must be compiled from the same sources. A module without a license is an error.
func documents(ctx context.Context, from source, binaries ...binary) (papers, error) {
	license, err := os.ReadFile(filepath.Join(from.dir, licenseFile))
	if err != nil {
		return papers{}, fmt.Errorf("read the license: %w", err)
	}
	var main debug.Module
	var parts []part
	for _, b := range binaries {
		info, err := buildinfo.Read(bytes.NewReader(b.content))
		if err != nil {
			return papers{}, fmt.Errorf("read the modules of the binary for %s: %w", b.platform, err)
		}
		more, err := linked(ctx, from.dir, b.platform, info)
		if err != nil {
			return papers{}, err
		}
		main, parts = info.Main, merge(parts, more)
	}
	if from.version != "" {
		main.Version = from.version
	}
	sbom, err := bill(main, parts)
	return papers{license, notices(parts), sbom}, err
}

// merge returns the parts of both lists, in the same order as linked returns parts.
func merge(a, b []part) []part {
	for _, p := range b {
		i := slices.IndexFunc(a, func(q part) bool { return q.path == p.path })
		if i < 0 {
			a = append(a, p)
			continue
		}
		for _, t := range p.texts {
			if !slices.ContainsFunc(a[i].texts, func(u text) bool { return u.name == t.name }) {
				a[i].texts = append(a[i].texts, t)
			}
		}
		slices.SortFunc(a[i].texts, byName)
	}
	slices.SortFunc(a[1:], func(p, q part) int { return strings.Compare(p.path, q.path) })
	return a
}

func byName(a, b text) int { return strings.Compare(a.name, b.name) }

// linked returns the parts of the binary: the standard library, followed by the modules ordered by path. Each part contains the texts in
// the directories of its linked packages and in the parent directories of these, up to the module's directory.
func linked(ctx context.Context, dir string, on platform, info *debug.BuildInfo) ([]part, error) {
	const format = "{{if .Standard}}std\t{{.Root}}\t{{.Root}}{{else}}{{.Module.Path}}\t{{.Module.Dir}}\t{{.Dir}}{{end}}"
	cmd := exec.CommandContext(ctx, "go", "list", "-mod=readonly", "-deps", "-f", format, command)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, environment(on), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages of %s: %w", command, err)
	}
	roots, dirs := map[string]string{}, map[string][]string{} // the directories of modules, and the directories of their packages by module
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		roots[f[0]], dirs[f[0]] = f[1], append(dirs[f[0]], f[2])
	}
	var parts []part
	for _, m := range append([]*debug.Module{{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}}, info.Deps...) {
		p := part{path: m.Path, version: m.Version, sum: m.Sum}
		if m.Replace != nil {
			p.path, p.version, p.sum = m.Replace.Path, m.Replace.Version, m.Replace.Sum
		}
		if p.texts, err = texts(roots[m.Path], dirs[m.Path]); err != nil {
			return nil, err
		}
		if len(p.texts) == 0 {
			return nil, fmt.Errorf("%s %s is linked into the binary, but no license was found for it", p.path, p.version)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// named matches the names of files with a license, a copyright or a notice. code matches the names of source files, which are excluded even
// if named matches them.
var (
	named = regexp.MustCompile(`(?i)^(un)?licen[cs]e|^copying|^copyright|^notice|^patents`)
	code  = regexp.MustCompile(`(?i)\.(go|s|h|c|json|ya?ml|sh|py|tmpl)$`)
)

// texts returns the texts in root, in each of dirs, and in the folders between them.
func texts(root string, dirs []string) ([]text, error) {
	if root == "" {
		return nil, nil
	}
	folders := map[string]bool{root: true}
	for _, dir := range dirs {
		for ; len(dir) > len(root); dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	var out []text
	for folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, fmt.Errorf("find the licenses: %w", err)
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !named.MatchString(e.Name()) || code.MatchString(e.Name()) {
				continue
			}
			path := filepath.Join(folder, e.Name())
			content, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("read a license: %w", err)
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return nil, fmt.Errorf("name a license: %w", err)
			}
			out = append(out, text{name: filepath.ToSlash(name), content: content})
		}
	}
	slices.SortFunc(out, byName)
	return out, nil
}

// heading begins each part of the notices. It is followed by the module's path and version.
var heading = strings.Repeat("=", 80) + "\nModule "

// sameText begins the note that replaces a repeated text. It is followed by the module and the file with the identical text.
const sameText = "The text of this file is identical to that of "

// notices returns the texts of all parts as one file. It writes each text only once, because half of the modules have the same license.
func notices(parts []part) []byte {
	var out bytes.Buffer
	out.WriteString("The binary vitrine contains the software below. Each part begins with its Go module (std is Go's standard library)\n" +
		"and its version. The license, copyright and notice files of the module follow.\n\n")
	above := map[string]string{} // the module and the file of each text
	for _, p := range parts {
		out.WriteString(heading + p.path + " " + p.version + "\n")
		for _, t := range p.texts {
			content := string(bytes.TrimSpace(t.content))
			place, seen := above[content]
			if seen {
				content = sameText + place
			} else {
				above[content] = p.path + " " + p.version + ", " + t.name
			}
			fmt.Fprintf(&out, "%s\n%s\n\n%s\n\n", strings.Repeat("-", 80), t.name, content)
		}
	}
	return out.Bytes()
}
