package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const version = "v0.0.0-test.1"

// TestRelease builds a release for one platform from each of two clones of the same commit, with different directories, file times, time
// zones and locales. It compares the releases byte by byte, and checks the files.
func TestRelease(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("runs the binary for linux")
	}
	if _, err := os.Stat("../../.git"); err != nil {
		t.Skip("this is not a git repository, and the test compares clones")
	}
	one := checkout(t)
	two := filepath.Join(t.TempDir(), "another", "clone")
	command(t, "git", "clone", "--quiet", one, two)
	first := releaseOf(t, one)
	t.Setenv("TZ", "Asia/Tokyo")
	t.Setenv("LC_ALL", "C")
	second := releaseOf(t, two)
	if diff := cmp.Diff(sumsOf(t, first), sumsOf(t, second)); diff != "" {
		t.Errorf("two releases of the same commit differ (-first +second):\n%s", diff)
	}

	name := func(format string) string { return fmt.Sprintf(format, version, "linux", runtime.GOARCH) }
	plain, plugin := name("vitrine_%s_%s_%s.tar.gz"), name("kubectl-vitrine_%s_%s_%s.tar.gz")
	want := []string{
		"RELEASE-NOTES.md", "SHA256SUMS", "THIRD-PARTY-NOTICES", "crds.yaml", "image.tar", "install.yaml", plugin, "krew.yaml", "review.sh",
		"vitrine-0.0.0-test.1.tgz", "vitrine.cdx.json", plain,
	}
	entries, err := os.ReadDir(first)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	checkSums(t, first)
	checkImage(t, filepath.Join(first, "image.tar"))
	for archive, program := range map[string]string{plain: "vitrine", plugin: "kubectl-vitrine"} {
		modes := unpack(t, filepath.Join(first, archive), t.TempDir())
		if diff := cmp.Diff(map[string]fs.FileMode{"LICENSE": 0o644, "THIRD-PARTY-NOTICES": 0o644, program: 0o755}, modes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", archive, diff)
		}
	}
	dir := t.TempDir()
	unpack(t, filepath.Join(first, plain), dir)
	if got := command(t, filepath.Join(dir, "vitrine"), "version"); !strings.HasPrefix(got, "vitrine "+version+" (commit ") || strings.Contains(got, "unknown") {
		t.Errorf("the binary reports %s", got)
	}
	if text := read(t, first, "install.yaml"); !strings.Contains(text, "image: ghcr.io/vitrine-dev/vitrine:"+version+"\n") || strings.Count(text, "kind: CustomResourceDefinition\n") != 6 {
		t.Errorf("install.yaml lacks the image or the CRDs:\n%.2000s", text)
	}
	if text := read(t, first, "crds.yaml"); strings.Count(text, "\nkind: CustomResourceDefinition\n") != 6 {
		t.Errorf("crds.yaml lacks CRDs:\n%.2000s", text)
	}
	var bom struct {
		Metadata struct{ Component struct{ Version string } }
	}
	if err := json.Unmarshal([]byte(read(t, first, "vitrine.cdx.json")), &bom); err != nil || bom.Metadata.Component.Version != version {
		t.Errorf("the bill of materials is for version %q (%v)", bom.Metadata.Component.Version, err)
	}
	if text := read(t, first, "RELEASE-NOTES.md"); !strings.HasPrefix(text, "### ") || strings.Contains(text, "\n## ") {
		t.Errorf("the release notes are not the section of the version in the changelog:\n%.500s", text)
	}
}

// checkout returns a repository with one commit. The commit contains the current files of this repository, even if they are not committed
// here.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimRight(command(t, "git", "-C", "../..", "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join("../..", name))
		if errors.Is(err, os.ErrNotExist) {
			continue // the deletion of this file is not committed
		}
		path := filepath.Join(dir, name)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	command(t, "git", "-C", dir, "init", "--quiet")
	command(t, "git", "-C", dir, "add", "--all")
	command(t, "git", "-C", dir, "-c", "user.name=test", "-c", "user.email=test@vitrine.invalid", "commit", "--quiet", "--message", "test")
	return dir
}

// releaseOf returns a directory with a release of a repository.
func releaseOf(t *testing.T, source string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "dist")
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-source", source, "-version", version, "-platforms", "linux/" + runtime.GOARCH, "-to", to}, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"using the section [Unreleased]", "image.tar", "krew.yaml"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %s:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "uncommitted") {
		t.Errorf("the tree has changes:\n%s", command(t, "git", "-C", source, "status", "--short"))
	}
	return to
}

// sumsOf returns the sums of all files of a directory by name.
func sumsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		out[name] = fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, dir, name))))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkSums compares SHA256SUMS with the files of a release.
func checkSums(t *testing.T, dir string) {
	t.Helper()
	want := sumsOf(t, dir)
	delete(want, "SHA256SUMS")
	got := map[string]string{}
	for line := range strings.Lines(read(t, dir, "SHA256SUMS")) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		got[name] = sum
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("SHA256SUMS (-want +got):\n%s", diff)
	}
}

// checkImage checks the index of the image in an OCI layout. The tests of hack/image check the rest of the image.
func checkImage(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files := map[string][]byte{}
	for in := tar.NewReader(f); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
	type index struct {
		Manifests []struct {
			Digest      string
			Annotations map[string]string
			Platform    struct{ OS, Architecture string }
		}
	}
	parse := func(name string) (out index) {
		t.Helper()
		if err := json.Unmarshal(files[name], &out); err != nil || len(out.Manifests) != 1 {
			t.Fatalf("%s: want one manifest (%v):\n%s", name, err, files[name])
		}
		return out
	}
	top := parse("index.json").Manifests[0]
	if got := top.Annotations["io.containerd.image.name"]; got != "ghcr.io/vitrine-dev/vitrine:"+version {
		t.Errorf("the image is %s", got)
	}
	image := parse("blobs/" + strings.Replace(top.Digest, ":", "/", 1)).Manifests[0]
	if got := image.Platform; got.OS != "linux" || got.Architecture != runtime.GOARCH {
		t.Errorf("the image is for %+v", got)
	}
}

// unpack unpacks a .tar.gz into a directory, and returns the mode of each file.
func unpack(t *testing.T, path, to string) map[string]fs.FileMode {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]fs.FileMode{}
	for in := tar.NewReader(plain); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return modes
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		modes[h.Name] = h.FileInfo().Mode()
		if err := errors.Join(err, os.WriteFile(filepath.Join(to, h.Name), content, modes[h.Name])); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKrew checks that krew accepts the manifest of the plugin for archives of all platforms, that the sums are correct, and that each file
// is in its archive.
func TestKrew(t *testing.T) {
	r := release{
		version: "v0.1.0", to: t.TempDir(), downloads: "https://example.com/v0.1.0",
		platforms: "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64",
	}
	sums := map[string]string{}
	for platform := range strings.SplitSeq(r.platforms, ",") {
		name := "kubectl-vitrine_v0.1.0_" + strings.ReplaceAll(platform, "/", "_") + ".tar.gz"
		if strings.HasPrefix(platform, "windows") {
			name = strings.Replace(name, ".tar.gz", ".zip", 1)
		}
		if err := r.write(name, []byte(platform)); err != nil {
			t.Fatal(err)
		}
		sums["https://example.com/v0.1.0/"+name] = fmt.Sprintf("%x", sha256.Sum256([]byte(platform)))
	}
	if err := r.writeKrew(t.Context()); err != nil {
		t.Fatal(err)
	}
	var p struct {
		APIVersion, Kind string
		Metadata         map[string]string
		Spec             struct {
			Version, Homepage, ShortDescription, Description string
			Platforms                                        []struct {
				Selector         struct{ MatchLabels map[string]string }
				URI, SHA256, Bin string
				Files            []struct{ From, To string }
			}
		}
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, r.to, "krew.yaml")), &p); err != nil {
		t.Fatal(err)
	}
	if p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || p.Kind != "Plugin" || p.Metadata["name"] != "vitrine" || p.Spec.Version != "v0.1.0" {
		t.Errorf("krew does not accept %+v", p)
	}
	// Krew's index rejects longer descriptions, and descriptions that mention kubectl.
	if d := p.Spec.ShortDescription; d == "" || len(d) > 50 || strings.HasSuffix(d, ".") || strings.Contains(d, "kubectl") {
		t.Errorf("short description %q", d)
	}
	got := map[string]string{}
	for _, platform := range p.Spec.Platforms {
		got[platform.URI] = platform.SHA256
		labels := platform.Selector.MatchLabels
		if !strings.Contains(platform.URI, "_"+labels["os"]+"_"+labels["arch"]+".") {
			t.Errorf("%s has the labels %v", platform.URI, labels)
		}
		if (labels["os"] == "windows") != strings.HasSuffix(platform.Bin, ".exe") || platform.Files[0].From != platform.Bin {
			t.Errorf("%v: the program %s is not the first of the files %v", labels, platform.Bin, platform.Files)
		}
	}
	if diff := cmp.Diff(sums, got); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
	}
}

func TestNotes(t *testing.T) {
	const changelog = "# Changelog\n\n## [Unreleased]\n\n### Added\n- new\n\n## [0.2.0] - 2027-01-02\n\n### Fixed\n- two\n\n## [0.1.0] - 2026-12-01\n- one\n"
	for version, want := range map[string]string{
		"Unreleased": "### Added\n- new\n", "0.2.0": "### Fixed\n- two\n", "0.1.0": "- one\n", "0.1": "", "0.3.0": "",
	} {
		if got := notesOf(changelog, version); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}

// TestRefuses checks that the command rejects mistakes before it builds anything.
func TestRefuses(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "old"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	tagged := t.TempDir()
	git := []string{"-C", tagged, "-c", "user.name=test", "-c", "user.email=test@vitrine.invalid"}
	for _, args := range [][]string{
		{"init", "--quiet"}, {"commit", "--quiet", "--allow-empty", "--message", "one"}, {"tag", "v0.1.0"},
		{"commit", "--quiet", "--allow-empty", "--message", "two"},
	} {
		command(t, "git", append(slices.Clone(git), args...)...)
	}
	unreleased, empty := t.TempDir(), t.TempDir()
	for dir, changelog := range map[string]string{
		unreleased: "## [Unreleased]\n- new\n\n## [0.2.0] - 2027-01-02\n- two\n",
		empty:      "## [Unreleased]\n\n## [0.1.0] - 2026-12-01\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, "CHANGELOG.md"), []byte(changelog), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		args []string
		says string
	}{
		"a version without notes": {[]string{"-version", "v0.1.0", "-source", unreleased, "-to", t.TempDir()}, "rename its section [Unreleased] to [0.1.0]"},
		"an empty section":        {[]string{"-version", "v0.1.0", "-source", empty, "-to", t.TempDir()}, "no notes for v0.1.0"},
		"nothing unreleased":      {[]string{"-version", "v0.3.0-rc.1", "-source", empty, "-to", t.TempDir()}, "no notes for v0.3.0-rc.1"},
		"a directory with files":  {[]string{"-version", "v0.1.0", "-source", t.TempDir(), "-to", full}, "is not empty"},
		"another commit's tag":    {[]string{"-version", "v0.1.0", "-source", tagged, "-to", t.TempDir()}, "but another commit is checked out"},
	}
	for _, v := range []string{"", "latest", "0.1.0", "v0.1", "v1", "vv0.1.0", "v0.1.0.1", "v01.1.0", "v0.1.0-", "v0.1.0-01", "v0.1.0+build", " v0.1.0", "v0.1.0\n"} {
		cases["version "+v] = struct {
			args []string
			says string
		}{[]string{"-version", v, "-source", t.TempDir(), "-to", t.TempDir()}, "must be v and a semantic version"}
	}
	for name, c := range cases {
		if err := run(t.Context(), c.args, io.Discard); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: want an error that says %q, got %v", name, c.says, err)
		}
	}
}

// command runs a program and returns its output.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
